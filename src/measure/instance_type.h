#pragma once

#include <optional>
#include <string>

namespace idleburn {

// What a virtual machine is, all as the catalogue of prices spells it.
struct InstanceType {
  std::string provider;             // "aws", "gcp", "azure", ...
  std::optional<std::string> type;  // "p5.48xlarge"; absent where nobody tells it
  std::string region;               // "us-east-1"; empty: not told
  std::string market;               // "on_demand", "spot"; empty: not told
};

// What it says it is in the tables its firmware shows. No network is asked. `dmi` is the folder of those tables,
// /sys/class/dmi/id on a real machine. Absent: no known cloud, or nothing to read. A fault of reading is the same as
// absence: the tables are a hint, and --price decides.
std::optional<InstanceType> DetectInstanceType(const std::string& dmi);

}  // namespace idleburn
