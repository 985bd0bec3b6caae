// Fleets whose every GPU-second is known, from the generator beside the checkout (../shared/data/fleet).

#pragma once

#include <map>
#include <string>
#include <vector>

#include "support/program.h"

namespace idleburn::testing {

// Makes each fleet once; the tests of a suite share them. The folders end with this object.
class GeneratedFleets {
 public:
  // Why a test that needs fleets is skipped. Empty: the generator is there.
  static std::string WhyNot();

  // Makes fleets by these words of the generator, all at once. The test fails if one cannot be made.
  void MakeAll(const std::vector<std::string>& all);
  // The folder of such a fleet. "--formats vm --only clean" has clean/import.jsonl and clean/expected.json.
  std::string Make(const std::string& words);

 private:
  TempFolder folder_;
  std::map<std::string, std::string> made_;  // folders by words
};

}  // namespace idleburn::testing
