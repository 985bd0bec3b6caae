#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "owners/owner.h"
#include "telemetry/device.h"

namespace idleburn {

// A GPU or MIG instance of this node with all its numberings. They differ on real nodes: /dev/nvidia2 may be index 0.
// The UUID is the key; the numbers only translate what schedulers say.
struct NodeGpu {
  std::string uuid;                   // "GPU-..." or "MIG-...", in the driver's spelling
  std::int64_t index = -1;            // of NVML; of a MIG instance: of its parent
  std::string bus_id;                 // "00000000:3B:00.0"
  std::optional<std::int64_t> minor;  // /dev/nvidia<minor>
  std::string parent;                 // UUID of the GPU that a MIG instance is a part of; empty: a whole GPU
  std::optional<std::int64_t> gi;     // GPU instance id of a MIG instance
};

// How Slurm's IDX numbers count GPUs. kMinor: gres.conf lists files (File=/dev/nvidia[0-7]), so IDX is the minor
// number. kPci: AutoDetect=nvml orders GPUs by bus id.
enum class GresOrder : std::uint8_t { kMinor, kPci };

// What one source says an owner holds, before the sources are joined.
struct OwnerClaim {
  Holding holding;
  std::string raw_id;    // the number in names of control groups of a Slurm job, or the UID of a pod
  std::string account;   // of Slurm
  std::string ns;        // namespace of Kubernetes
  std::string job_name;  // hostile text, only matched with patterns
};

// The answer of a source at one moment.
struct SourceAnswer {
  std::vector<OwnerClaim> claims;
  // Whether a device without a claim is surely not allocated by this source. False after a failure, or if the source
  // names an allocation but not its device.
  bool complete = true;
  std::vector<std::string> unknown;  // devices that somebody holds, but the source does not say who
  std::vector<Owner> ended;          // owners that held something at the last good answer and no longer do
  std::vector<std::string> errors;
};

// The whole GPU that a number of Slurm means. Null if there is none, or if the GPU is cut into MIG instances: their
// order in gres.conf is not known.
const NodeGpu* GpuOfGresIndex(std::int64_t index, GresOrder order, std::span<const NodeGpu> gpus);
// The device with that UUID. A missing "GPU-" is tolerated, as some tools leave it out. Null if there is none.
const NodeGpu* GpuOfUuid(std::string_view uuid, std::span<const NodeGpu> gpus);
// The whole GPU with that NVML index, or its MIG instance `gi`. Null if there is none. A GPU with MIG instances is no
// device by itself.
const NodeGpu* GpuOfIndex(std::int64_t index, std::optional<std::int64_t> gi, std::span<const NodeGpu> gpus);
// The same by the number of /dev/nvidia<minor>.
const NodeGpu* GpuOfMinor(std::int64_t minor, std::optional<std::int64_t> gi, std::span<const NodeGpu> gpus);
// Whether a GPU is cut into MIG instances that are listed too. Its time belongs to them.
bool HasInstances(const NodeGpu& gpu, std::span<const NodeGpu> gpus);

// The number of /dev/nvidia<minor> of the board with that bus id, as the kernel module tells it in
// PROC/driver/nvidia/gpus/BUS/information. Absent without that file.
std::optional<std::int64_t> MinorOf(const std::string& proc, std::string_view bus_id);

// A device with all its numberings; `board` is the UUID of the board of a MIG instance, else empty. Where the kernel
// does not tell the minor number, it is taken to be the driver's index, as it is on most machines.
NodeGpu NodeGpuFrom(const Device& device, const std::string& board);

// Text of others on one line, safe to show, of at most 256 bytes.
std::string SafeName(std::string_view text);

}  // namespace idleburn
