// Any text is a model's config.json or is refused; what is read is a plan, or an error in one line.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "plan/plan_files.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto file = idleburn::ReadHfConfig({reinterpret_cast<const char*>(data), size}, "config.json");
  if (!file) return 0;
  file->words["seq_len"] = "128";
  const auto plan = idleburn::ReadPlan(file->words);
  if (plan) CHECK(idleburn::CountParams(plan->run.facts).total() > 0);
  return 0;
}
