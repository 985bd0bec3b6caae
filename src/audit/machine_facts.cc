#include "audit/machine_facts.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

#include "measure/cloud_metadata.h"
#include "price/find_rate.h"
#include "telemetry/gpu_facts.h"
#include "terminal/output.h"
#include "text/number.h"

namespace idleburn {
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

namespace {

// What a link of a generation and width moves each way, without what the protocol takes of each packet: by the PCI
// Express specifications 2.5, 5, 8, 16, 32 and 64 GT/s a lane, coded 8b/10b, from 8 on 128b/130b, and 242 of 256 bytes.
std::int64_t PcieSpeed(std::int64_t generation, std::int64_t lanes) {
  constexpr std::array<std::int64_t, 6> kLane = {250'000'000,   500'000'000,   984'615'385,
                                                 1'969'230'769, 3'938'461'538, 7'562'500'000};
  if (generation < 1 || generation > static_cast<std::int64_t>(kLane.size()) || lanes < 1 || lanes > 64) return 0;
  return kLane[static_cast<std::size_t>(generation - 1)] * lanes;
}

// What the NVLinks of a board that are up can move; those of a board of which nobody asked are taken for up, as they
// are part of its form (data/gpus.csv).
std::int64_t NvlinkSpeed(const std::string& gpu_name, std::optional<std::int64_t> up) {
  const std::optional<GpuFacts> facts = FactsFor(gpu_name);
  if (!facts || !facts->nvlink_bytes_per_s || !facts->nvlinks) return 0;
  return *facts->nvlink_bytes_per_s / *facts->nvlinks * std::min(up.value_or(*facts->nvlinks), *facts->nvlinks);
}

}  // namespace

std::vector<LinkSpeed> LinksOf(const DeviceTable& devices, const RunFacts& facts) {
  std::vector<LinkSpeed> links;
  for (DeviceId id = 0; id < devices.size(); ++id) {
    const auto fact = [&](const std::string& end) {
      return ParseInteger(FactIn(facts, "gpu." + devices[id].uuid + end));
    };
    // The generation falls while a board is idle, as it may have been when it was asked, and comes back under load: so
    // the most that board and slot can have counts. Lanes do not come back. Wrong of a link that trained to less than
    // it could, by a bad riser: it is then taken for faster, and called full too seldom rather than too often. Where
    // the most is not told nothing is known: by the generation of an idle board the link would seem full under load.
    links.push_back({PcieSpeed(fact(".pcie_most_generation").value_or(0), fact(".pcie_width").value_or(0)),
                     NvlinkSpeed(devices[id].name, fact(".nvlinks"))});
  }
  return links;
}

}  // namespace idleburn
