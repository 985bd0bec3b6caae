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

// All that the prices of a run are found by, understood once.
struct RateBook {
  struct Stated {
    GpuSelector gpus;
    Rate rate;
    std::string text;  // "node03=1.9"
  };
  Catalogue catalogue;
  std::vector<Stated> stated;       // --price
  bool must_apply = false;          // stated prices that no GPU of the run has are an error, not only told
  std::vector<Contract> contracts;  // in order: of several that name a GPU as closely, the first that has room
  std::optional<Rate> owned;        // --owned
  std::string instance;             // of this machine, where it tells: "aws:p5.48xlarge"; else empty
  std::string region;               // likewise: "us-east-1"
  std::string market;               // likewise: "spot"
  std::string host;                 // of devices that do not tell theirs
  Instant now;                      // decides whether a price is stale
};

// The rate of each of `gpus`, by the first of these that has one (docs/money.md): a stated price, by what names the GPU
// most closely; a contract in force; owned hardware; the catalogue. A MIG instance has the rate of its board. A price
// that is stated for GPUs of which the run has none is a usage error, or a remark. A GPU under a contract for a part of
// the run only, or of a run without dates, has no rate, and is remarked on. `span`: of the run, for contracts.
Result<RateCard> RatesOf(const RateBook& book, const DeviceTable& devices, std::span<const DeviceId> gpus,
                         const std::optional<RunSpan>& span);

}  // namespace idleburn
