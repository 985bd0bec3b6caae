#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"

namespace idleburn {

// Finds out which cloud's virtual machine this is: from its firmware, or from the cloud's metadata service. Live runs
// keep it as facts, which help to find a price (audit/machine_facts.cc); `doctor` shows it.

// A virtual machine, in the words of the price catalogue, so that its rate can be looked up.
struct InstanceType {
  std::string provider;             // "aws", "gcp", "azure", ...
  std::optional<std::string> type;  // "p5.48xlarge"; absent: not known
  std::string region;               // "us-east-1"; empty: not known
  std::string market;               // "on_demand", "spot"; empty: not known
};

// Detects the machine from the tables of its firmware, without any network. `dmi` is their folder, /sys/class/dmi/id
// on a real machine. Only Amazon's tables name the type. Absent for no known cloud. An unreadable table counts as
// none: the tables are only a hint, and --price decides.
std::optional<InstanceType> DetectInstanceType(const std::string& dmi);

// Whom AskCloud asks, and how long. A test asks a server of its own.
struct CloudQuestion {
  std::string provider;                         // ask only this cloud; empty or without a service: ask all
  std::string base = "http://169.254.169.254";  // link-local: requests do not leave the host
  Nanos patience{800'000'000};                  // time limit for everything
};

// Asks the metadata service for type, region and market of this machine. It asks Amazon (version 2, by token),
// Google, Azure and Oracle at the same time. Fails if no answer looks like that cloud's.
//
// It runs only when the user asks for it (--detect-cloud): a program that opens connections on its own would surprise
// its user, and on a machine outside a cloud the requests only cost time.
Result<InstanceType> AskCloud(const CloudQuestion& question);

}  // namespace idleburn
