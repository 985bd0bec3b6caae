#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"

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

struct CloudQuestion {
  std::string provider;                         // the only one to ask; empty, or one without such a service: all
  std::string base = "http://169.254.169.254";  // link-local: the question does not leave the host
  Nanos patience{800'000'000};                  // for all that is asked
};

// Asks the cloud's metadata service what this virtual machine is, with region and market: that of Amazon (version 2, by
// token), Google, Azure and Oracle, all at once. Fails, with one line, where none answers as that cloud does.
Result<InstanceType> AskCloud(const CloudQuestion& question);

}  // namespace idleburn
