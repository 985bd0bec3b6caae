#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "base/time.h"
#include "telemetry/device.h"

namespace idleburn {

// How a rate was found; recorded with every figure (reference: the resolution order in docs/money.md).
enum class RateKind : std::uint8_t { kNone, kGiven, kContract, kOwned, kCatalogue };
std::string_view Name(RateKind k);  // "given"; "none" without a price

// A price per GPU-hour, or why there is none.
struct Rate {
  RateKind kind = RateKind::kNone;
  std::string currency = "USD";
  std::optional<Money> per_gpu_hour;
  std::string key;               // of a catalogue price: "aws:p5.48xlarge:on_demand@us-east-1"
  std::string source;            // "--price 8", "catalogue: gcp a3-highgpu-1g on_demand us-central1"
  std::optional<Instant> as_of;  // of a catalogue price
  bool stale = false;            // older than 90 days; without a rate: a candidate is
  // Without a rate: "no_price", "ambiguous_price", "partly_under_contract". Of several rates that one figure was asked
  // of: "several_rates".
  std::string reason;

  // With reason ambiguous_price: the candidates, one of which the user must choose. With a catalogue price: the offers
  // of the same GPU, this one too; none where it prices another GPU than it sells.
  struct Candidate {
    std::string key;  // "aws:p5.48xlarge:on_demand@us-east-1", usable with --price
    Money per_gpu_hour;
    std::int64_t gpu_micros = 1'000'000;  // GPUs of the instance in millionths, as in CatalogueRow
    std::optional<Instant> as_of = {};    // absent: undated
    friend bool operator==(const Candidate&, const Candidate&) = default;
  };
  std::vector<Candidate> candidates;  // cheapest first
  std::optional<Money> low;
  std::optional<Money> high;

  friend bool operator==(const Rate&, const Rate&) = default;
};

// The rates of a run, each once, and which GPU has which: the time of the GPUs of one rate is summed before it is
// priced.
class RateCard {
 public:
  // One rate for every GPU.
  RateCard(Rate all = {}) : rates_{std::move(all)} {}  // NOLINT(google-explicit-constructor)

  // Another one for this device.
  void Give(DeviceId device, const Rate& rate);
  void Remark(std::string sentence) { remarks_.push_back(std::move(sentence)); }

  // Index into rates() of the rate of a device.
  [[nodiscard]] std::size_t IndexOf(DeviceId device) const { return device < of_.size() ? of_[device] : 0; }
  [[nodiscard]] const Rate& Of(DeviceId device) const { return rates_[IndexOf(device)]; }
  [[nodiscard]] const std::vector<Rate>& rates() const { return rates_; }
  // The rates of those devices, each once.
  [[nodiscard]] std::vector<Rate> Used(std::span<const DeviceId> devices) const;
  // What a reader must know of how they were found, a sentence each.
  [[nodiscard]] const std::vector<std::string>& remarks() const { return remarks_; }

 private:
  std::vector<Rate> rates_;      // the first is that of every device that was given none
  std::vector<std::size_t> of_;  // by DeviceId
  std::vector<std::string> remarks_;
};

// What several rates have in common: itself of one; of others no amount, with the reason "several_rates" if there is
// one at all, and of those without one the candidates together and their range.
Rate OneRate(std::span<const Rate> rates);

}  // namespace idleburn
