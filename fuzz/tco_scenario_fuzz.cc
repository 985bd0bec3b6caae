// Any text is a scenario or is not, in one line that says why; what is one has a cost, or one line that says why not.
#include <string>

#include "base/result.h"
#include "tco/plan_cost.h"
#include "tco/scenario_file.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto file = idleburn::ReadTcoFile("x.toml", text, "2026-11-21");
  if (!file) {
    CHECK(!file.error().message.empty());
    return 0;
  }
  for (const idleburn::TcoPlan& plan : file->plans) {
    const auto cost = idleburn::CostOfPlan(plan);
    if (!cost) continue;
    CHECK(cost->lines.size() == plan.lines.size());
    idleburn::TornadoOf(plan);
    idleburn::DrawPlan(plan, 10, 1);
  }
  return 0;
}
