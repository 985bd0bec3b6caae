#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "base/time.h"

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

}  // namespace idleburn
