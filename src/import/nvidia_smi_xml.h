#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "import/importer.h"
#include "import/leaves.h"

namespace idleburn {

// `nvidia-smi -q -x`, of any schema: elements are found by path, so renamed and added ones do no harm. A file may
// hold many documents, one after another, as a loop (`-l`) writes them.

// A <gpu>: leaves by path below it ("utilization/gpu_util", "gpu_power_readings/average_power_draw").
struct SmiGpu {
  std::string id;                   // its attribute: the PCI bus id
  Leaves leaves;                    // without the list of supported clocks
  std::vector<Leaves> processes;    // "pid", "type", "process_name", "used_memory", "gpu_instance_id", ...
  std::vector<Leaves> mig_devices;  // "gpu_instance_id", "compute_instance_id", "fb_memory_usage/used", ...
};

struct SmiDocument {
  std::string dtd;  // "v12"; empty if the document names none
  Leaves leaves;    // "timestamp", "driver_version", "cuda_version", "attached_gpus"
  std::vector<SmiGpu> gpus;
  std::int64_t line = 0;  // where it begins
};

// Reads one document at a time; memory is bounded by the largest document (at most 16 MiB). Entities are refused,
// external ones never fetched.
class SmiXmlReader {
 public:
  SmiXmlReader(ByteSource& in, DataQuality& quality);
  ~SmiXmlReader();
  SmiXmlReader(const SmiXmlReader&) = delete;
  SmiXmlReader& operator=(const SmiXmlReader&) = delete;

  // True and the next whole document, or false at the end. A document that breaks off or is no XML is dropped and
  // counted; it is an error if no other can be read. A document beyond the limits is an error.
  Result<bool> Next(SmiDocument* document);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

bool SniffNvidiaSmiXml(std::string_view head);
Result<void> ImportNvidiaSmiXml(ByteSource& in, const ImportOptions& options, ImportTarget& out);

}  // namespace idleburn
