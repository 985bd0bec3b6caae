#include "telemetry/link_speed.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "telemetry/gpu_facts.h"
#include "text/number.h"

namespace idleburn {
namespace {

// Ends of the facts about a GPU's links: "gpu.UUID.pcie_width".
constexpr std::string_view kMostGeneration = ".pcie_most_generation";
constexpr std::string_view kWidth = ".pcie_width";
constexpr std::string_view kNvlinksUp = ".nvlinks";

// Bytes per second of a PCIe link in each direction, before the overhead of packets. Source: the PCI Express
// specifications with 2.5, 5, 8, 16, 32 and 64 GT/s per lane. The code is 8b/10b, from 8 GT/s on 128b/130b, and 242 of
// 256 bytes at 64 GT/s. Example: generation 4 with 16 lanes moves 31.5 GB/s. Returns 0 for an unknown link.
std::int64_t PcieSpeed(std::int64_t generation, std::int64_t lanes) {
  constexpr std::array<std::int64_t, 6> kLane = {250'000'000,   500'000'000,   984'615'385,
                                                 1'969'230'769, 3'938'461'538, 7'562'500'000};
  if (generation < 1 || generation > static_cast<std::int64_t>(kLane.size()) || lanes < 1 || lanes > 64) return 0;
  return kLane[static_cast<std::size_t>(generation - 1)] * lanes;
}

// Bytes per second of the NVLinks that are up, in both directions together. Source: data/gpus.csv. If nobody counted
// them, all links of the model are taken as up, because they are part of the board. Returns 0 for a model without known
// NVLinks.
std::int64_t NvlinkSpeed(const std::string& gpu_name, std::optional<std::int64_t> up) {
  const std::optional<GpuFacts> facts = FactsFor(gpu_name);
  if (!facts || !facts->nvlink_bytes_per_s || !facts->nvlinks) return 0;
  return *facts->nvlink_bytes_per_s / *facts->nvlinks * std::min(up.value_or(*facts->nvlinks), *facts->nvlinks);
}

}  // namespace

std::vector<LinkSpeed> LinksOf(const DeviceTable& devices, const RunFacts& facts) {
  std::vector<LinkSpeed> links;
  for (DeviceId id = 0; id < devices.size(); ++id) {
    const auto fact = [&](std::string_view end) {
      return ParseInteger(FactIn(facts, "gpu." + devices[id].uuid + std::string(end)));
    };
    // The highest generation that board and slot support counts, with the lanes in use. The present generation does not
    // count: it falls while a board is idle and rises again under load. Lanes do not come back. This is wrong for a
    // link that trained to a lower generation, for example by a bad riser. It is then taken for faster than it is, and
    // an alert of a full link comes too rarely. If the highest generation is unknown, so is the speed: an idle
    // generation would make every link look full.
    links.push_back({PcieSpeed(fact(kMostGeneration).value_or(0), fact(kWidth).value_or(0)),
                     NvlinkSpeed(devices[id].name, fact(kNvlinksUp))});
  }
  return links;
}

bool TellsLink(std::string_view key) {
  return key.ends_with(kMostGeneration) || key.ends_with(kWidth) || key.ends_with(kNvlinksUp);
}

}  // namespace idleburn
