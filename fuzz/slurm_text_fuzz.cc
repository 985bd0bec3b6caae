// Any text in the place of what Slurm's programs write is read or refused; nothing breaks.
#include <string>
#include <string_view>

#include "owners/gres_text.h"
#include "owners/slurm_jobs.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto queue = idleburn::ParseSqueue(std::string(text), "vm");
  idleburn::ParseScontrolNode(text);
  idleburn::ParseGres(text);
  idleburn::FindNode(text.substr(0, size / 2), text.substr(size / 2));
  // A job that is told at all has what makes it a job.
  if (queue) {
    for (const idleburn::SlurmJob& job : queue->jobs) {
      if (job.raw_id.empty() || job.start.nanos() <= 0) __builtin_trap();
    }
  }
  return 0;
}
