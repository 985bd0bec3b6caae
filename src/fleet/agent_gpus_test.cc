// Models and prices of GPUs as agents told them, when they changed, and when they are no prices.
#include "fleet/agent_gpus.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace idleburn {
namespace {

EngineSeries PriceOf(const std::string& uuid, const std::string& currency, const std::string& source,
                     std::int64_t nano) {
  return {{{"currency", currency}, {"node", "n"}, {"source", source}, {"uuid", uuid}}, {{900, nano}}};
}

EngineSeries TimeOf(EngineSeries series, std::int64_t second) {
  series.points = {{900, second * 1000}};
  return series;
}

// The example of an owned GPU has nine decimals, and a slice may cost less than a thousandth.
TEST(AgentGpusTest, PricesKeepNineDecimals) {
  const AgentGpus all = AgentGpusOf(
      {}, {{PriceOf("GPU-1", "USD", "owned", 1'234'979'110), PriceOf("GPU-2", "USD", "owned", 400'000)}, {}});
  EXPECT_EQ(all.gpus.at("GPU-1").per_gpu_hour, Money::Nano(1'234'979'110));
  EXPECT_EQ(all.gpus.at("GPU-2").per_gpu_hour, Money::Nano(400'000));
  EXPECT_TRUE(all.doubts.empty());
}

// Whatever the order of the engine: the price that was scraped last counts.
TEST(AgentGpusTest, TheNewestSeriesOfAGpuCounts) {
  const EngineSeries old = PriceOf("GPU-1", "USD", "z list", 9'000'000'000);
  const EngineSeries now = PriceOf("GPU-1", "USD", "contract", 2'000'000'000);
  LastTold prices = {{now, old}, {TimeOf(old, 500), TimeOf(now, 800)}};
  EngineSeries info = {{{"__name__", "idleburn_gpu_info"}, {"name", "H100"}, {"uuid", "GPU-1"}}, {{900, 1000}}};
  EngineSeries before = {{{"__name__", "idleburn_gpu_info"}, {"name", "V100"}, {"uuid", "GPU-1"}}, {{900, 1000}}};
  LastTold models = {{info, before}, {TimeOf(info, 700), TimeOf(before, 300)}};
  for (EngineSeries& time : models.times) time.labels.erase(time.labels.begin());  // without the metric's name
  EXPECT_TRUE(NeedsTimes(prices.values));
  for (int turn = 0; turn < 2; ++turn) {
    const AgentGpus all = AgentGpusOf(models, prices);
    EXPECT_EQ(all.gpus.at("GPU-1").per_gpu_hour, Money::Cents(200));
    EXPECT_EQ(all.gpus.at("GPU-1").price_source, "contract");
    EXPECT_EQ(all.gpus.at("GPU-1").model, "H100");
    std::reverse(models.values.begin(), models.values.end());
    std::reverse(prices.values.begin(), prices.values.end());
  }
}

// Two scrapers of one agent tell the same, so nobody needs to be asked when.
TEST(AgentGpusTest, ReplicasThatAgreeNeedNoTimes) {
  EngineSeries a = PriceOf("GPU-1", "USD", "list", 5);
  EngineSeries b = a;
  a.labels.emplace_back("replica", "a");
  b.labels.emplace_back("replica", "b");
  EXPECT_FALSE(NeedsTimes({a, b}));
}

TEST(AgentGpusTest, ACurrencyIsThreeCapitals) {
  for (const char* bad : {"", "usd", "US", "=1+1", "\x1b[31m", "U S"}) {
    const AgentGpus all = AgentGpusOf({}, {{PriceOf("GPU-1", bad, "x", 5), PriceOf("GPU-2", "EUR", "x", 5)}, {}});
    EXPECT_EQ(all.gpus.count("GPU-1"), 0U) << bad;
    EXPECT_TRUE(all.gpus.at("GPU-2").per_gpu_hour.has_value());
    ASSERT_EQ(all.doubts.size(), 1U);
    EXPECT_EQ(all.doubts[0].id, "bad_price");
    EXPECT_EQ(all.doubts[0].count, 1);
  }
}

}  // namespace
}  // namespace idleburn
