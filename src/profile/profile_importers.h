#pragma once

#include <span>
#include <string_view>

#include "base/byte_source.h"
#include "base/result.h"
#include "profile/profile.h"
#include "telemetry/data_quality.h"

namespace idleburn {

// The formats of profilers. Each has a Sniff, which looks at the first 64 KiB of an input, and a Read, which returns
// a Profile. `audit` asks FindProfileImporter for every input before it tries the formats of logs.

struct TraceLimits;

// One format of a profiler. A new format is a row in profile/profile_importers.cc with these two functions.
struct ProfileImporter {
  std::string_view name;  // "Nsight Systems SQLite"
  // True if the first bytes of an input (decompressed) look like this format.
  bool (*sniff)(std::string_view head);
  // Reads from any source. A format that needs random access opens a plain file by the source's name, and copies any
  // other source to a temporary file first.
  Result<Profile> (*read)(ByteSource& in, DataQuality& quality);
};

// All formats, most specific first. The order matters: a trace of TensorFlow is a Chrome trace like PyTorch's.
std::span<const ProfileImporter> ProfileImporters();

// The importer for an input, by its first bytes. Null if the input is not a profile.
//
// A report that its profiler must export first is an error that says how. Such reports are recognized by their
// extension, because their formats are not public. `name` is the input's name, for that and for the error.
Result<const ProfileImporter*> FindProfileImporter(std::string_view name, std::string_view head);

// True if the first bytes look like a Chrome trace, which is what PyTorch's profiler (Kineto) exports.
bool SniffKineto(std::string_view head);

// Reads a trace of PyTorch's profiler (CUDA or ROCm, all spellings since 2021) in one pass. Memory: the rows of the
// profile and a window of the file. Doubtful entries are counted in `quality`; only a file that cannot be read at all
// is an error. A trace without device events is a profile without devices.
Result<Profile> ReadKineto(ByteSource& in, DataQuality& quality);
// The same with other limits of memory, so that a test can cross them with a small trace.
Result<Profile> ReadKineto(ByteSource& in, DataQuality& quality, const TraceLimits& limits);

// True for any SQLite database. ReadNsys says what another database is instead.
bool SniffNsys(std::string_view head);
// Reads what `nsys export --type sqlite` makes of a report of Nsight Systems, 2022 to 2026. Tables and columns vary
// with the version, the traced APIs and the content; a missing one counts as empty. Impossible rows are counted.
// Kernels, copies, sets and CUDA graphs traced as a whole are device work; a graph counts as a kernel.
// TARGET_INFO_CUDA_DEVICE identifies devices, because every process numbers its own. Calls and device events are joined
// within a process. If device tables name no process, each event gets the process of the call with its correlation id.
// Steps are found among NVTX ranges (StepFinder).
Result<Profile> ReadNsys(ByteSource& in, DataQuality& quality);

// True for Chrome traces that name planes of TensorFlow or JAX. SniffKineto also accepts such a trace, but this never
// accepts one of PyTorch.
bool SniffXlaTrace(std::string_view head);
// Reads the Chrome trace (*.trace.json.gz) that the profiler of TensorFlow and JAX writes beside its xplane.pb.
// Processes are planes and threads are lines (profile/xla_rows.h). The profiler writes at most a million events and
// drops the latest ones, so a full trace proves nothing by what it lacks.
Result<Profile> ReadXlaTrace(ByteSource& in, DataQuality& quality);

// Profiles of TensorFlow and JAX in full: *.xplane.pb, a protobuf XSpace, read one plane at a time
// (profile/xla_rows.h). A file that is cut off is an error: protobuf gives no place from which to read on.
bool SniffXplane(std::string_view head);
Result<Profile> ReadXplane(ByteSource& in, DataQuality& quality);

// True for an object whose first member is rocprofiler-sdk-tool. No Chrome trace begins so.
bool SniffRocprof(std::string_view head);
// Reads what `rocprofv3 --output-format json` writes, ROCm 6.2 to 7, in one pass. Kernels and copies are device work,
// calls of HIP, HSA and RCCL are calls, ranges of ROCTX are host ranges, and steps are found among these (StepFinder).
// Kernels with which HIP copies or sets memory count as copies and sets. Agents are numbered as the GPUs of the
// machine. Records that come before the tables that they refer to wait in memory, 80 bytes each. Records without times
// or without a known GPU are counted. A file that is cut off is read to the cut.
Result<Profile> ReadRocprof(ByteSource& in, DataQuality& quality);
// The same with other limits of memory, so that a test can cross them with a small file.
Result<Profile> ReadRocprof(ByteSource& in, DataQuality& quality, const TraceLimits& limits);

}  // namespace idleburn
