#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "import/importer.h"

namespace idleburn {

// What every importer does with a device: enter it once, refuse absurdly many, and tell its PCIe link. Kept in one
// place, so that the same GPU reads the same from every format.

// Enters a device, or finds it if an earlier row or input named it. A masked UUID, which identifies no board, is
// counted once per device.
DeviceId EnterDevice(const DeviceKey& key, ImportTarget& out, Place place);

// No input has more GPUs. A column with more names holds something else.
inline constexpr std::size_t kMaxDevices = 20'000;
inline std::string TooManyDevices(const std::string& column) {
  return "column '" + column + "' names more than " + std::to_string(kMaxDevices) + " GPUs; check --columns gpu=";
}

// The PCIe link of a board: its current generation and lanes, and the most that board and slot support.
enum class LinkPart : std::uint8_t { kGeneration, kMostGeneration, kWidth, kMostWidth };

// Passes one part of a link to ImportTarget::beside, as the fact that recordings use ("gpu.UUID.pcie_width",
// docs/measuring.md). Importers tell the first reading only, as a recording does. If a link loses lanes later, its
// assumed speed is too high, so it is reported as saturated too rarely rather than too often.
// `text` is "16" or "16x". Anything else ("[N/A]") is dropped, and so is the link of a board without a UUID of its own.
void TellLink(DeviceId device, LinkPart part, std::string_view text, ImportTarget& out);

// Passes on facts about links and drops everything else. With several inputs, each knows the links of its own boards,
// but the command, the host and the end of a run belong to one input.
class LinkFacts final : public LiveSink {
 public:
  // `next` may be null.
  explicit LinkFacts(LiveSink* next) : next_(next) {}
  void OnSamples(std::span<const Sample> /*samples*/) override {}
  void OnHost(std::span<const HostSample> /*samples*/) override {}
  void OnWork(const WorkMark& /*mark*/) override {}
  void OnNote(const Note& /*note*/) override {}
  void OnFact(const RunFact& fact) override;

 private:
  LiveSink* next_;
};

}  // namespace idleburn
