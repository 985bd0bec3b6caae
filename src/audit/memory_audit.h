#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "diagnose/memory_use.h"

namespace idleburn {

// The answer of `idleburn audit snapshot.pickle`: what a memory snapshot of PyTorch says.
struct MemoryAudit {
  std::string file;                // as it was given
  std::vector<GpuMemoryUse> gpus;  // by number; empty if no memory was used
  bool has_trace = false;          // the file has device_traces
  bool has_segments = false;
  std::optional<bool> expandable;  // the setting expandable_segments; absent if the file lacks it
};

// Whether one of the inputs is a regular file that begins like a pickle, also within gzip, xz or zstd. A pipe is never
// looked at, because it cannot be read again. Fails if there are other inputs beside it: a snapshot has no times to
// join.
Result<bool> IsMemorySnapshot(const std::vector<std::string>& inputs);

// Reads the file, of at most 512 MiB unpacked, and follows its trace. Nothing in it is executed. Fails with one line
// that begins with the file's name.
Result<MemoryAudit> AuditMemory(const std::string& file);

}  // namespace idleburn
