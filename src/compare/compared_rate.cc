#include "compare/compared_rate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "price/find_rate.h"
#include "text/number.h"

namespace idleburn {
namespace {

// GPU-time at one rate.
struct PricedTime {
  Rate rate;
  Int128 nanos = 0;
};

void Put(const Rate& rate, Int128 nanos, std::vector<PricedTime>& times) {
  const auto same = [&](const PricedTime& known) { return known.rate == rate; };
  auto at = std::find_if(times.begin(), times.end(), same);
  if (at == times.end()) at = times.insert(times.end(), PricedTime{rate, 0});
  at->nanos += nanos;
}

// Rates of which every one has an amount. Rounded once, to the nano-unit.
Result<Rate> Mean(const std::vector<PricedTime>& times) {
  Rate mean = times.front().rate;
  Int128 cost = 0;
  Int128 all = 0;
  std::string sources;
  for (const PricedTime& time : times) {
    if (time.rate.currency != mean.currency) {
      return Fail("prices in " + mean.currency + " (" + times.front().rate.source + ") and in " + time.rate.currency +
                  " (" + time.rate.source + ") have no mean; give all of them in one currency");
    }
    if (time.rate.kind != mean.kind) mean.kind = RateKind::kNone;
    mean.stale = mean.stale || time.rate.stale;
    cost += time.rate.per_gpu_hour->nano() * time.nanos;
    all += time.nanos;
    sources += fmt::format("{}{} for {:.6g} GPU-h ({})", sources.empty() ? "" : ", ",
                           FormatExact(*time.rate.per_gpu_hour, 2), InHours(time.nanos), time.rate.source);
  }
  if (all == 0) return OneRate({});
  mean.per_gpu_hour = TRY(Scale(Money::Nano(1), cost, all));
  mean.source = "mean over time: " + sources;
  mean.key.clear();
  mean.as_of.reset();
  mean.candidates.clear();
  return mean;
}

// The rates of the GPUs of one input; of a log of work, of which models are known at best, its one rate.
Result<RateCard> CardOf(const RateBook& book, const ComparedInput& input) {
  if (!input.gpus.empty()) return RatesOf(book, input.devices, input.gpus, input.span);
  Rate rate = TRY(RateOfModels(book, ModelsOf({&input, 1})));
  return RateCard(std::move(rate));
}

// Prices are stated for all inputs at once: the GPUs of one of them may lack what is named. The book to price each by.
Result<RateBook> Checked(const RateBook& book, std::initializer_list<std::span<const ComparedInput>> sides) {
  RateBook checked = book;
  for (const RateBook::Stated& stated : book.stated) {
    if (stated.gpus.all()) continue;  // fits any input
    checked.stated = {stated};
    std::optional<Error> why;
    bool meant = false;
    for (const std::span<const ComparedInput> side : sides) {
      for (const ComparedInput& input : side) {
        const Result<RateCard> card = CardOf(checked, input);
        meant = meant || card;
        if (!card) why = card.error();
      }
    }
    if (!meant && why) return tl::unexpected<Error>(*why);
  }
  checked.stated = book.stated;
  checked.must_apply = false;
  return checked;
}

// A run that names its devices is priced as an audit prices it.
Result<void> PutInput(const RateBook& book, const ComparedInput& input, std::vector<PricedTime>& times) {
  const RateCard card = TRY(CardOf(book, input));
  for (std::size_t i = 0; i < input.gpus.size(); ++i) Put(card.Of(input.gpus[i]), input.gpu_nanos[i], times);
  if (!input.gpus.empty()) return {};
  double seconds = 0;
  for (const WorkTable::Block& block : input.blocks) seconds += block.run.run.gpu_seconds;
  Put(card.rates().front(), static_cast<Int128>(std::llround(std::min(seconds, 9e9) * 1e6)) * 1000, times);
  return {};
}

Result<Rate> MeanOf(const RateBook& book, std::span<const ComparedInput> inputs) {
  std::vector<PricedTime> times;
  for (const ComparedInput& input : inputs) TRY(PutInput(book, input, times));
  if (times.empty()) return RateOfModels(book, {});
  std::vector<Rate> rates;
  for (const PricedTime& time : times) rates.push_back(time.rate);
  const bool priced = std::all_of(rates.begin(), rates.end(), [](const Rate& r) { return r.per_gpu_hour.has_value(); });
  return priced && rates.size() > 1 ? Mean(times) : Result<Rate>(OneRate(rates));
}

// Model and number of GPUs of each run.
std::set<std::pair<std::string, std::string>> MixesOf(std::span<const ComparedInput> inputs) {
  const auto value = [](const StaticFactors& factors, const char* key) {
    const auto found = factors.find(key);
    return found == factors.end() ? std::string() : found->second;
  };
  std::set<std::pair<std::string, std::string>> mixes;
  for (const ComparedInput& input : inputs) {
    for (const WorkTable::Block& block : input.blocks) {
      const StaticFactors& factors = block.run.run.factors;
      mixes.emplace(value(factors, "gpu.model"), value(factors, "gpu.count"));
    }
  }
  return mixes;
}

}  // namespace

Result<Rate> MeanRateOf(const RateBook& book, std::span<const ComparedInput> inputs) {
  const RateBook checked = TRY(Checked(book, {inputs}));
  return MeanOf(checked, inputs);
}

Result<SideRates> RatesOfSides(const RateBook& book, std::span<const ComparedInput> before,
                               std::span<const ComparedInput> after) {
  const RateBook checked = TRY(Checked(book, {before, after}));
  Rate rate_before = TRY(MeanOf(checked, before));
  Rate rate_after = TRY(MeanOf(checked, after));
  return SideRates{std::move(rate_before), std::move(rate_after)};
}

bool HaveSameGpus(std::span<const ComparedInput> before, std::span<const ComparedInput> after) {
  return MixesOf(before) == MixesOf(after);
}

}  // namespace idleburn
