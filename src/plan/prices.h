#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/settings.h"
#include "price/rate_book.h"

namespace idleburn {

// What so many GPUs of one model cost by the user's own prices.
struct OwnPrice {
  std::optional<Money> on_demand;     // of all of them, an hour; absent: of some of them it is not known
  std::optional<Money> spot;          // likewise, by --spot-price
  const CatalogueRow* row = nullptr;  // whose price it is, where a key was given; its machines are priced whole
  std::string currency = "USD";
  std::string source;  // "--price 2.49", "contract acme: ..."
};

// The prices of a run to come: the user's own, found as an audit finds them (docs/money.md), before the catalogue's. A
// price that names no model, of all GPUs or of hardware of one's own, is that of the GPU that the plan asks for.
class PlanPrices {
 public:
  struct Question {
    std::string gpu;   // that the plan asks for, in any spelling; empty: none
    std::string spot;  // --spot-price, an amount; empty: not given
    std::string host;  // of the GPUs, where that is known
    Instant now;
  };
  // Fails on what is wrong with the prices, and where a flag gives one of a GPU that is not named.
  static Result<PlanPrices> Open(const Settings& settings, const Question& question);

  [[nodiscard]] const Catalogue& catalogue() const { return own_.catalogue; }
  // The user's own price of `gpus` of a model, as data/gpus.csv calls it; absent: the catalogue's count.
  [[nodiscard]] Result<std::optional<OwnPrice>> Of(std::string_view gpu, int gpus) const;
  // The rate that an audit would find for a model.
  [[nodiscard]] Result<Rate> RateOf(std::string_view gpu) const;
  // No other GPU is to be weighed: the price is that of the one asked for.
  [[nodiscard]] bool only_asked() const { return only_asked_; }
  // A price that is left aside, because the plan does not say of which GPU it is; empty if there is none.
  [[nodiscard]] const std::string& remark() const { return remark_; }

 private:
  RateBook own_;    // all of the user's prices
  RateBook named_;  // those that name a model, without the catalogue
  std::string asked_;
  std::optional<Money> spot_;
  std::string spot_currency_;
  bool only_asked_ = false;
  std::string remark_;
};

// An amount above 0 as --budget and --spot-price take it, with or without a $; absent if the text is empty.
Result<std::optional<Money>> PlanAmount(const char* flag, const std::string& text);

}  // namespace idleburn
