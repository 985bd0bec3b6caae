#pragma once

#include <future>
#include <nlohmann/json.hpp>
#include <string>

#include "support/program.h"

namespace idleburn::testing {

// `idleburn run` and `idleburn record` on a machine whose driver is the stand-in, in a folder of the test's own that
// is also the user's folder for data.
class LiveMachine {
 public:
  // `script` says what the GPUs are and do (tests/standin/README.md). With `live`, what they do comes from simulated
  // programs instead. All GPUs are given to what runs there, also where the tests run in a container.
  explicit LiveMachine(const std::string& script, bool live = false);

  // Words of the shell in that environment; $I is the program, $T the simulated training, $F the folder.
  [[nodiscard]] ProgramRun Run(const std::string& words) const;
  // The same beside what the test does meanwhile.
  [[nodiscard]] std::future<ProgramRun> Begin(const std::string& words) const;

  // Those words of the shell that make the environment, for what a test starts itself.
  [[nodiscard]] const std::string& environment() const { return environment_; }
  [[nodiscard]] std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }
  // A JSON document there; the test fails if it is none.
  [[nodiscard]] nlohmann::json Json(const std::string& name) const;
  // Of a recording there, by `idleburn audit` without the stand-in.
  [[nodiscard]] nlohmann::json Audit(const std::string& name, const std::string& flags = "--price 3600") const;

 private:
  TempFolder folder_;
  std::string environment_;
};

// Without a usable GPU, whatever this machine has.
extern const char* const kNoGpu;

// Seconds of a document's hours, which are GPU-hours at a price of 3600 an hour.
double Seconds(const nlohmann::json& hours);
// Lines of `text` that hold `part`.
int LinesWith(const std::string& text, const std::string& part);

}  // namespace idleburn::testing
