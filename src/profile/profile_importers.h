#pragma once

#include <span>
#include <string_view>

#include "base/byte_source.h"
#include "base/result.h"
#include "profile/profile.h"
#include "telemetry/data_quality.h"

namespace idleburn {

struct TraceLimits;

// One format of a profiler.
struct ProfileImporter {
  std::string_view name;  // "Nsight Systems SQLite"
  // True if the first bytes of an input (decompressed) look like this format.
  bool (*sniff)(std::string_view head);
  // Takes any source. A format that is read by position opens a plain file by the source's name, and writes any other
  // source to a temporary file first.
  Result<Profile> (*read)(ByteSource& in, DataQuality& quality);
};

// All formats, most specific first.
std::span<const ProfileImporter> ProfileImporters();

// The importer for an input by its first bytes; nullptr if it is no profile. A report that its profiler must export
// first is an error that says how; it is told by the ending of its name, since such formats are not public.
Result<const ProfileImporter*> FindProfileImporter(std::string_view name, std::string_view head);

// True if the first bytes of a file look like a Chrome trace, which is what PyTorch's profiler (Kineto) exports.
bool SniffKineto(std::string_view head);

// Reads a trace of PyTorch's profiler (CUDA, ROCm; all spellings since 2021) in one pass. Memory is that of the rows of
// the profile and a window of the file. What is doubtful is counted in `quality`; an error is only what cannot be read
// at all. A trace without device events is no error: it has no devices.
Result<Profile> ReadKineto(ByteSource& in, DataQuality& quality);
Result<Profile> ReadKineto(ByteSource& in, DataQuality& quality, const TraceLimits& limits);

// What `nsys export --type sqlite` makes of a report of Nsight Systems, 2022 to 2026: tables and columns come and go
// with the version, with what was traced and with what the trace holds. What is absent is taken as absent; rows that
// cannot be are counted.
//
// Kernels, copies, sets and (traced as one piece) CUDA graphs are the device's work; a graph counts as a kernel. A
// device is told by TARGET_INFO_CUDA_DEVICE, since every process numbers its own; without it, by that number. Calls are
// joined to device events within a process; where the device tables name no process, each event takes the process of
// the call that has its correlation id, and Profile::correlation_by_process is false if several have it. Steps are what
// StepFinder finds among NVTX ranges.

// True for any SQLite database: ReadNsys says what another one is instead.
bool SniffNsys(std::string_view head);
// A source that is a plain SQLite file is opened by its name; any other is first written to a temporary file.
Result<Profile> ReadNsys(ByteSource& in, DataQuality& quality);

// The Chrome trace that the profiler of TensorFlow and JAX writes beside its xplane.pb: *.trace.json.gz. Processes are
// planes, threads are lines; what is in them: xla_rows.h. It holds a million events at most, the latest being left
// out of a longer profile, so that what a full one lacks proves nothing.

// True for Chrome traces that name such planes. A trace of PyTorch is one too for SniffKineto, never for this.
bool SniffXlaTrace(std::string_view head);
Result<Profile> ReadXlaTrace(ByteSource& in, DataQuality& quality);

// Profiles of TensorFlow and JAX in full: *.xplane.pb, a protobuf XSpace, read one plane at a time. What is in it:
// xla_rows.h. A file that is cut off is an error.

bool SniffXplane(std::string_view head);
Result<Profile> ReadXplane(ByteSource& in, DataQuality& quality);

}  // namespace idleburn
