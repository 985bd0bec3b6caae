// Any text is a training configuration or is refused, without limit in depth or references.
#include <cstddef>
#include <cstdint>
#include <string>

#include "plan/plan_files.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = idleburn::ReadTrainingYaml({reinterpret_cast<const char*>(data), size}, "train.yaml");
  if (file) static_cast<void>(idleburn::ReadPlan(file->words));
  return 0;
}
