#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "base/result.h"
#include "base/time.h"
#include "classify/totals.h"
#include "price/catalogue.h"
#include "price/contract.h"
#include "price/stated_price.h"
#include "telemetry/device.h"

namespace idleburn {
// Which GPU has which price, and how that was decided. A rate always says where it comes from, or why it is missing. A
// missing price is a normal result and no error: GPU-hours are reported without it. There is no default price, since
// nobody would notice that it was used.

// How a rate was found. It is recorded with every figure (docs/money.md, "Which price").
enum class RateKind : std::uint8_t { kNone, kGiven, kContract, kOwned, kCatalogue };
std::string_view Name(RateKind k);  // "given"; "none" without a price

// A price per GPU-hour, or why there is none.
struct Rate {
  RateKind kind = RateKind::kNone;
  std::string currency = "USD";
  std::optional<Money> per_gpu_hour;
  std::string key;  // of a catalogue price: "aws:p5.48xlarge:on_demand@us-east-1"
  std::string
      source;  // for people: "--price 8", "catalogue: gcp:a3-highgpu-1g:on_demand@us-central1, as of 2026-08-03"
  std::optional<Instant> as_of;  // of a catalogue price
  bool stale = false;            // older than 90 days; without a price: some candidate is
  // Why there is no price: "no_price", "ambiguous_price", "partly_under_contract"; "several_rates" if several rates
  // were asked for one figure.
  std::string reason;

  // For ambiguous_price, the candidates: the user must choose one. For a catalogue price, all offers of the same GPU,
  // including this one; none if the price is that of another GPU than it sells.
  struct Candidate {
    std::string key;  // "aws:p5.48xlarge:on_demand@us-east-1", for --price
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

// The rates of a run, each once, and which GPU has which. Equal rates are one, so that the time of all their GPUs is
// summed before it is priced.
class RateCard {
 public:
  // One rate for every GPU. Implicit, because a single rate is the usual card.
  RateCard(Rate all = {}) : rates_{std::move(all)} {}  // NOLINT(google-explicit-constructor)

  // Gives one device another rate.
  void Give(DeviceId device, const Rate& rate);
  void Remark(std::string sentence) { remarks_.push_back(std::move(sentence)); }

  // The index into rates() of a device's rate.
  [[nodiscard]] std::size_t IndexOf(DeviceId device) const { return device < of_.size() ? of_[device] : 0; }
  [[nodiscard]] const Rate& Of(DeviceId device) const { return rates_[IndexOf(device)]; }
  [[nodiscard]] const std::vector<Rate>& rates() const { return rates_; }
  // The rates of these devices, each once; without devices the first rate of the card.
  [[nodiscard]] std::vector<Rate> Used(std::span<const DeviceId> devices) const;
  // What a reader must know about how they were found, one sentence each.
  [[nodiscard]] const std::vector<std::string>& remarks() const { return remarks_; }

 private:
  std::vector<Rate> rates_;      // the first is that of devices without one of their own
  std::vector<std::size_t> of_;  // by DeviceId
  std::vector<std::string> remarks_;
};

// What several rates have in common. A single rate is returned as it is. Several have no amount: the reason is
// "several_rates" if one of them has a price. Candidates of those without a price are joined, with their range.
Rate OneRate(std::span<const Rate> rates);

// Everything that decides the prices of a run, parsed once. It holds values only; price/find_rate.h fills it from
// settings and files.
struct RateBook {
  // A price of --price and the GPUs it is for.
  struct Stated {
    GpuSelector gpus;
    Rate rate;
    std::string text;  // "node03=1.9"
  };
  Catalogue catalogue;
  std::vector<Stated> stated;       // --price
  bool must_apply = false;          // a stated price that fits no GPU is an error, not only a remark
  std::vector<Contract> contracts;  // in order: of several that name a GPU equally closely, the first with room counts
  std::optional<Rate> owned;        // --owned
  std::string instance;             // of this machine, if known: "aws:p5.48xlarge"
  std::string region;               // of this machine, if known: "us-east-1"
  std::string market;               // of this machine, if known: "spot"
  std::string host;                 // of devices that do not name theirs
  Instant now;                      // decides whether a price is stale
};

// The rate of each of `gpus`, by the first source that has one (docs/money.md, "Which price"): the stated price that
// names the GPU most closely, a contract in force, owned hardware, the catalogue. A MIG instance has the rate of its
// board. `span` is the time of the run, for contracts; absent if the run has no dates.
//
// A price that is stated for GPUs that the run does not have is a usage error if must_apply is set, else a remark. A
// GPU has no rate, and a remark, if the run lies only partly in the term of its contract or has no dates.
Result<RateCard> RatesOf(const RateBook& book, const DeviceTable& devices, std::span<const DeviceId> gpus,
                         const std::optional<RunSpan>& span);

}  // namespace idleburn
