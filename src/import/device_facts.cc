#include "import/device_facts.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "text/number.h"

namespace idleburn {
namespace {

// A larger number is neither a count of lanes nor a generation.
constexpr std::int64_t kMostLanes = 64;

// Ends of the fact names, by LinkPart.
constexpr std::array<std::string_view, 4> kFacts = {".pcie_generation", ".pcie_most_generation", ".pcie_width",
                                                    ".pcie_most_width"};

}  // namespace

DeviceId EnterDevice(const DeviceKey& key, ImportTarget& out, Place place) {
  const std::size_t known = out.devices.size();
  const DeviceId id = out.devices.Enter(key);
  const std::string uuid = NormalUuid(key.uuid);
  if (out.devices.size() > known && !uuid.empty() && IsMaskedUuid(uuid)) {
    out.quality.Count(QualityId::kMaskedUuid, place);
  }
  return id;
}

// Only boards with a UUID of their own, since the fact's name holds it.
void TellLink(DeviceId device, LinkPart part, std::string_view text, ImportTarget& out) {
  const std::string& uuid = out.devices[device].uuid;
  if (out.beside == nullptr || uuid.empty() || IsMaskedUuid(uuid)) return;
  if (!text.empty() && text.back() == 'x') text.remove_suffix(1);
  const std::optional<std::int64_t> number = ParseInteger(text);
  if (!number || *number < 1 || *number > kMostLanes) return;
  const std::string_view fact = kFacts[static_cast<std::size_t>(part)];
  out.beside->OnFact({"gpu." + uuid + std::string(fact), std::to_string(*number)});
}

void LinkFacts::OnFact(const RunFact& fact) {
  const bool link = std::any_of(kFacts.begin(), kFacts.end(), [&](std::string_view end) {
    return fact.key.starts_with("gpu.") && fact.key.ends_with(end);
  });
  if (link && next_ != nullptr) next_->OnFact(fact);
}

}  // namespace idleburn
