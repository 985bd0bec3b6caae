// Any text in the place of a control group, an environment or a job file is read or refused; nothing breaks.
#include <string_view>

#include "owners/cgroup_owner.h"
#include "owners/environ_keys.h"
#include "owners/job_files.h"
#include "owners/label_map.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  idleburn::OwnerOfGroups(text);
  for (const auto& [key, value] : idleburn::EnvironKeys().ValuesIn(text)) {
    if (value.size() > idleburn::kMostEnvironValue) __builtin_trap();
  }
  for (const auto form :
       {idleburn::JobFileForm::kIdleburn, idleburn::JobFileForm::kDcgm, idleburn::JobFileForm::kJobstats}) {
    idleburn::ParseJobFile(text, form);
  }
  (void)idleburn::LabelMap::Parse(text, "labels.toml");
  return 0;
}
