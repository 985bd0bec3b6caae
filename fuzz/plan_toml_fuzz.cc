// Any text is a plan in TOML or is refused.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "plan/plan_files.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = idleburn::ReadPlanToml({reinterpret_cast<const char*>(data), size}, "plan.toml");
  if (file) static_cast<void>(idleburn::ReadPlan(file->words));
  return 0;
}
