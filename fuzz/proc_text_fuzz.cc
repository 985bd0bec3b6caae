// Any text in the place of a file of /proc or a cgroup is read or is not; nothing breaks.
#include <string_view>

#include "measure/cgroup_files.h"
#include "measure/proc_files.h"
#include "measure/system_facts.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  idleburn::ParseProcessStat(text);
  idleburn::ParseProcessIo(text);
  idleburn::ParseRunQueueWait(text);
  idleburn::ParsePressure(text, "some");
  idleburn::ParseMachineCpu(text);
  idleburn::ParseDiskstats(text);
  idleburn::ParseNetDev(text);
  idleburn::ParseIoStat(text);
  idleburn::ParseBlkioBytes(text);
  idleburn::CatchesSignal(text, 10);
  idleburn::CountOfList(text);
  idleburn::FindCgroups(text.substr(0, size / 2), text.substr(size / 2));
  idleburn::MountOf(idleburn::MountsOf(text.substr(0, size / 2)), text.substr(size / 2));
  return 0;
}
