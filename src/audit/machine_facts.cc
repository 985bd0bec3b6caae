#include "audit/machine_facts.h"

#include <cstdlib>
#include <optional>
#include <string>

#include "measure/cloud_metadata.h"
#include "price/find_rate.h"
#include "terminal/output.h"

namespace idleburn {
// The firmware alone tells the instance type on some clouds, without any network. An answer of the metadata service is
// preferred, because it also has region and market.
std::vector<RunFact> MachineFacts(bool ask_cloud) {
  std::optional<InstanceType> machine = DetectInstanceType("/sys/class/dmi/id");
  if (ask_cloud) {
    CloudQuestion question;
    if (machine) question.provider = machine->provider;
    if (const char* base = std::getenv("IDLEBURN_METADATA_URL")) question.base = base;
    Result<InstanceType> told = AskCloud(question);
    if (!told) Say("--detect-cloud: " + told.error().message);
    if (told) machine = *std::move(told);
  }
  std::vector<RunFact> facts;
  if (!machine || !machine->type) return facts;
  facts.push_back({kInstanceFact, machine->provider + ":" + *machine->type});
  if (!machine->region.empty()) facts.push_back({kRegionFact, machine->region});
  if (!machine->market.empty()) facts.push_back({kMarketFact, machine->market});
  return facts;
}

}  // namespace idleburn
