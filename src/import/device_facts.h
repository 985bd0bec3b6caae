#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "import/importer.h"

namespace idleburn {

// Enters a device and counts a masked UUID once per device.
DeviceId EnterDevice(const DeviceKey& key, ImportTarget& out, Place place);

// More GPUs than one file is of: the column that is taken for their name holds something else.
inline constexpr std::size_t kMaxDevices = 20'000;
inline std::string TooManyDevices(const std::string& column) {
  return "column '" + column + "' names more than " + std::to_string(kMaxDevices) + " GPUs; check --columns gpu=";
}

// What a source tells of the PCIe link of a board: of its generation and lanes as they are, and as board and slot can
// have at most.
enum class LinkPart : std::uint8_t { kGeneration, kMostGeneration, kWidth, kMostWidth };

// Tells one as the fact that a recording has of it ("gpu.UUID.pcie_width", docs/measuring.md), for who asks. A source
// tells what it reads first, as a recording asks once: of a link that loses lanes later the speed is then taken for
// higher than it is, and it is called full too seldom rather than too often. `text`:
// "16", "16x"; what is no number of lanes or generation ("[N/A]") is not told, nor is that of a board without a UUID of
// its own, which could be of another one.
void TellLink(DeviceId device, LinkPart part, std::string_view text, ImportTarget& out);

// Passes on the links alone of what comes beside samples: of several inputs each knows those of its own boards, while
// the command, the host and the end are of one.
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
