#include "support/generated_fleets.h"

#include <gtest/gtest.h>

#include "support/shared_data.h"

namespace idleburn::testing {
namespace {

std::filesystem::path Generator() { return test::SharedPath("data/fleet/fleet_gen.py"); }

}  // namespace

std::string GeneratedFleets::WhyNot() {
  if (!std::filesystem::exists(Generator())) return "data/fleet/fleet_gen.py is missing";
  return WithoutPrograms({"python3"});
}

void GeneratedFleets::MakeAll(const std::vector<std::string>& all) {
  std::string start;
  for (const std::string& words : all) {
    std::string& out = made_[words];
    if (!out.empty()) continue;
    out = (folder_.path() / ("fleet" + std::to_string(made_.size()))).string();
    start += "python3 " + Generator().string() + " " + out + " " + words + " & pids=\"$pids $!\"; ";
  }
  if (start.empty()) return;
  EXPECT_EQ(RunShell(start + "for each in $pids; do wait $each || exit 1; done").code, 0);
}

std::string GeneratedFleets::Make(const std::string& words) {
  MakeAll({words});
  return made_.at(words);
}

}  // namespace idleburn::testing
