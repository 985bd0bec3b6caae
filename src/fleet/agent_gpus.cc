#include "fleet/agent_gpus.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "fleet/edge_queries.h"
#include "fleet/ledger_month.h"
#include "text/strings.h"

namespace idleburn {
namespace {

constexpr std::int64_t kLeastLookback = 7 * kDaySeconds;
// Engines show a sample for five minutes, so no sample falls between two steps.
constexpr std::int64_t kTimeStep = 300;
// Of one question for times: a month of so many GPUs stays far below the samples that an engine reads.
constexpr std::size_t kGpusOfTimes = 200;

constexpr const char* kModelGauge = "idleburn_gpu_info";
constexpr const char* kPriceGauge = "idleburn_gpu_price_per_hour";

using GpuLabels = std::vector<std::pair<std::string, std::string>>;

// Functions of time drop the name of the metric; last_over_time keeps it.
GpuLabels WithoutName(const EngineSeries& series) {
  GpuLabels labels = series.labels;
  std::erase_if(labels, [](const auto& label) { return label.first == "__name__"; });
  return labels;
}

// What a series tells of its GPU, beside where and by whom it was scraped.
struct ToldOfGpu {
  std::string uuid, name, currency, source;
  std::int64_t value = 0;
  friend auto operator<=>(const ToldOfGpu&, const ToldOfGpu&) = default;
};

ToldOfGpu ToldBy(const EngineSeries& series) {
  return {AgentLabel(series, "uuid"), AgentLabel(series, "name"), AgentLabel(series, "currency"),
          AgentLabel(series, "source"), series.points.empty() ? 0 : series.points.back().second};
}

std::map<std::string, std::set<ToldOfGpu>> ToldByGpu(const std::vector<EngineSeries>& values) {
  std::map<std::string, std::set<ToldOfGpu>> told;
  for (const EngineSeries& series : values) told[AgentLabel(series, "uuid")].insert(ToldBy(series));
  return told;
}

// What each GPU's newest series tells. Two of the same moment: the last in order, so that every engine answers alike.
std::map<std::string, ToldOfGpu> NewestByGpu(const LastTold& gauge) {
  std::map<GpuLabels, std::int64_t> seen;
  for (const EngineSeries& series : gauge.times) {
    if (!series.points.empty()) seen[WithoutName(series)] = series.points.back().second;
  }
  std::map<std::string, std::pair<std::int64_t, ToldOfGpu>> newest;
  for (const EngineSeries& series : gauge.values) {
    const auto time = seen.find(WithoutName(series));
    std::pair<std::int64_t, ToldOfGpu> one = {time == seen.end() ? 0 : time->second, ToldBy(series)};
    const auto [place, fresh] = newest.try_emplace(one.second.uuid, one);
    if (!fresh && place->second < one) place->second = std::move(one);
  }
  std::map<std::string, ToldOfGpu> told;
  for (auto& [uuid, one] : newest) told[uuid] = std::move(one.second);
  return told;
}

class AgentGpuReader {
 public:
  AgentGpuReader(Engine& engine, std::int64_t from, std::int64_t to)
      : engine_(engine), to_(to - to % kTimeStep), lookback_(std::max(kLeastLookback, to - from)) {}

  AgentGpus Read() {
    const LastTold models = ReadGauge("", kModelGauge, "gpu_models_unread", "models");
    const LastTold prices = ReadGauge("1e6 * ", kPriceGauge, "gpu_prices_unread", "the agents' prices");
    AgentGpus gpus = AgentGpusOf(models, prices);
    gpus.doubts.insert(gpus.doubts.begin(), doubts_.begin(), doubts_.end());
    return gpus;
  }

 private:
  LastTold ReadGauge(const std::string& factor, const std::string& gauge, const std::string& doubt,
                     const std::string& what) {
    LastTold told;
    const auto values = engine_.At(factor + "last_over_time(" + gauge + "[" + std::to_string(lookback_) + "s])", to_);
    if (!values) {
      doubts_.push_back(
          {doubt, 1, "warn", "the engine did not tell " + what + " of GPUs: " + Printable(values.error().message)});
      return told;
    }
    told.values = *values;
    if (!NeedsTimes(told.values)) return told;
    const Result<void> asked = ReadTimes(gauge, &told);
    if (!asked) {
      doubts_.push_back(
          {doubt, 1, "warn",
           what + " of some GPUs changed, and the engine did not tell when: " + Printable(asked.error().message)});
    }
    return told;
  }

  // The times of the series of GPUs that were told several things.
  Result<void> ReadTimes(const std::string& gauge, LastTold* told) {
    std::vector<std::string> uuids;
    for (const auto& [uuid, facts] : ToldByGpu(told->values)) {
      if (facts.size() > 1) uuids.push_back(uuid);
    }
    for (std::size_t i = 0; i < uuids.size(); i += kGpusOfTimes) {
      const auto first = uuids.begin() + static_cast<std::ptrdiff_t>(i);
      const auto last = uuids.begin() + static_cast<std::ptrdiff_t>(std::min(uuids.size(), i + kGpusOfTimes));
      const std::string matcher = "{uuid=~\"" + NamesPattern({first, last}) + "\"}";
      for (EngineSeries& series :
           TRY(engine_.At("max_over_time(timestamp(" + gauge + matcher + ")[" + std::to_string(lookback_) +
                              "s:" + std::to_string(kTimeStep) + "s])",
                          to_))) {
        told->times.push_back(std::move(series));
      }
    }
    return {};
  }

  Engine& engine_;
  std::int64_t to_;
  std::int64_t lookback_;
  std::vector<FleetDoubt> doubts_;
};

}  // namespace

bool NeedsTimes(const std::vector<EngineSeries>& values) {
  const auto told = ToldByGpu(values);
  return std::any_of(told.begin(), told.end(), [](const auto& gpu) { return gpu.second.size() > 1; });
}

AgentGpus AgentGpusOf(const LastTold& models, const LastTold& prices) {
  AgentGpus all;
  for (const auto& [uuid, told] : NewestByGpu(models)) all.gpus[uuid].model = told.name;
  std::int64_t left_out = 0;
  for (const auto& [uuid, told] : NewestByGpu(prices)) {
    if (!IsCurrencyCode(told.currency) || told.value < 0) {
      ++left_out;
      continue;
    }
    AgentGpu& gpu = all.gpus[uuid];
    gpu.per_gpu_hour = Money::Nano(told.value);
    gpu.currency = told.currency;
    gpu.price_source = told.source;
  }
  if (left_out > 0) {
    all.doubts.push_back({"bad_price", left_out, "warn",
                          "the agents' prices of " + std::to_string(left_out) +
                              " GPUs are left out: the currency is no code of three capital letters, or the price is "
                              "negative"});
  }
  return all;
}

AgentGpus ReadAgentGpus(Engine& engine, std::int64_t from, std::int64_t to) {
  return AgentGpuReader(engine, from, to).Read();
}

}  // namespace idleburn
