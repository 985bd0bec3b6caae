#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "classify/totals.h"
#include "price/catalogue.h"
#include "price/contract.h"
#include "price/rate_card.h"
#include "price/stated_price.h"
#include "telemetry/device.h"

namespace idleburn {

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
// GPU whose run lies only partly in the term of its contract, or has no dates, has no rate and a remark.
Result<RateCard> RatesOf(const RateBook& book, const DeviceTable& devices, std::span<const DeviceId> gpus,
                         const std::optional<RunSpan>& span);

}  // namespace idleburn
