#include "import/smi_rows.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <utility>
#include <vector>

#include "import/formats.h"
#include "import/printed_values.h"
#include "support/collecting_sink.h"
#include "text/line_reader.h"

namespace idleburn {
namespace {

using testing::Collected;

Result<void> Import(const std::string& text, Collected& into, const ImportOptions& options = {}) {
  StringSource in(text, "gpu.csv");
  return ImportNvidiaSmiCsv(in, options, into.target);
}

std::string Stamp(int second) {
  return fmt::format("2026/03/02 {:02}:{:02}:{:02}.000", 10 + second / 3600, second / 60 % 60, second % 60);
}

// `rows` rows, of which those that `shape` calls otherwise stand as it says.
template <typename Shape>
std::string LogOf(int rows, Shape shape) {
  std::string text = "timestamp, index, utilization.gpu [%], power.draw [W]\n";
  for (int i = 0; i < rows; ++i) text += Stamp(i) + shape(i) + "\n";
  return text;
}

TEST(SmiRows, ColumnsThatChangeWithoutAHeaderAreRefused) {
  const std::string good = ", 0, 50 %, 200.00 W";
  for (const int threads : {1, 4}) {
    ImportOptions options;
    options.threads = threads;
    const auto refused = [&](int rows, auto shape) {
      Collected c;
      const Result<void> done = Import(LogOf(rows, shape), c, options);
      return done ? std::string() : done.error().message.substr(0, done.error().message.find(" here"));
    };
    // From some row on, in whichever block, and back again: another number of cells, or cells in another order.
    for (const int from : {0, 1, 60, 2500, 5000, 5995}) {
      const std::string place = fmt::format("gpu.csv:{}: the columns change", from + 2);
      for (const char* other : {", 0, 7, 50 %, 200.00 W", ", 0, 50 %"}) {
        const std::string want = from > 0 ? place : "gpu.csv:2: has ";  // nothing changes where no row fits
        EXPECT_EQ(refused(6000, [&](int i) { return i < from ? good : other; }).substr(0, want.size()), want) << other;
        EXPECT_EQ(refused(7000, [&](int i) { return i < from || i >= 6000 ? good : other; }), place) << other;
      }
      if (from == 0) continue;
      EXPECT_EQ(refused(6000, [&](int i) { return i < from ? good : ", 0, 200.00 W, 50 %"; }), place);
    }
    // One GPU of eight, in rows between the others': no run, and no few.
    EXPECT_EQ(refused(6000, [&](int i) { return i % 8 == 5 ? ", 0, 1,312 W, 50 %" : good; }),
              "gpu.csv:7: the columns change");
    // A torn row now and then, a few at once, and what a driver says for hours.
    EXPECT_EQ(refused(6000, [&](int i) { return i % 30 == 5 ? ", 0, 5" : good; }), "");
    EXPECT_EQ(refused(6000, [&](int i) { return i / 4 == 700 || i >= 5996 ? ", 0, 5" : good; }), "");
    EXPECT_EQ(refused(6000, [&](int i) { return i < 100 ? good : " Unable to reach GPU 0000:0B:00.0, reboot"; }), "");
  }
}

TEST(SmiRows, AColumnWithoutValuesHidesNoOther) {
  struct Case {
    const char* columns;
    const char* row;
    Signal signal;
    std::int64_t value;
    const char* counter;
  };
  for (const Case& k :
       {Case{"power.draw.average, power.draw.instant", "[N/A], 111.50 W", Signal::kPower, 111'500,
             "power.draw.instant"},
        Case{"power.draw.instant, power.draw.average", "90.00 W, 111.50 W", Signal::kPower, 111'500,
             "power.draw.average"},
        Case{"enforced.power.limit, power.limit", "[N/A], 400.00 W", Signal::kPowerLimit, 400'000, "power.limit"},
        Case{"clocks.current.sm, clocks.sm", "[Unknown Error], 345 MHz", Signal::kSmClock, 345'000, "clocks.sm"},
        Case{"clocks_event_reasons.active, clocks_throttle_reasons.active", "[N/A], 0x0000000000000004",
             Signal::kEventReasons, 4, "clocks_throttle_reasons.active"},
        Case{"clocks_event_reasons.active, clocks_event_reasons.sw_power_cap", "[N/A], Active", Signal::kEventReasons,
             4, "clocks_event_reasons"},
        Case{"clocks_event_reasons.sw_power_cap, clocks_event_reasons.active", "Not Active, 0x0000000000000004",
             Signal::kEventReasons, 4, "clocks_event_reasons.active"}}) {
    // The first value may come late, and the column that had none may then have some: it is left aside.
    const std::string none = "[N/A], [N/A]";
    for (const int late : {0, 1, 6000}) {
      std::string text = fmt::format("timestamp, index, {}\n", k.columns);
      for (int i = 0; i < late; ++i) text += fmt::format("{}, 0, {}\n", Stamp(i), none);
      for (int i = late; i < late + 6000; ++i) text += fmt::format("{}, 0, {}\n", Stamp(i), k.row);
      for (const int threads : {1, 4}) {
        ImportOptions options;
        options.threads = threads;
        Collected c;
        ASSERT_TRUE(Import(text, c, options));
        ASSERT_EQ(c.samples.size(), static_cast<std::size_t>(late + 6000));
        for (int i = 0; i < late + 6000; ++i) {
          const Sample& sample = c.samples[static_cast<std::size_t>(i)];
          ASSERT_EQ(sample.Has(k.signal), i >= late) << k.columns << ", row " << i;
          ASSERT_TRUE(i < late || sample.Get(k.signal) == k.value) << k.columns << ", row " << i;
        }
        EXPECT_EQ(c.devices[0].counter[Index(k.signal)], std::string("nvidia_smi.") + k.counter);
        EXPECT_TRUE(c.devices[0].also[Index(k.signal)].empty()) << k.columns;
        EXPECT_EQ(c.quality.CountOf(QualityId::kUnavailableValue), late) << k.columns;
      }
    }
  }
}

TEST(SmiRows, TheColumnThatIsChosenStays) {
  Collected c;
  ASSERT_TRUE(
      Import("timestamp, index, power.draw.average, power.draw.instant\n"
             "2026/03/02 10:00:00.000, 0, [N/A], 90.00 W\n"
             "2026/03/02 10:00:01.000, 0, 80.00 W, 91.00 W\n"
             "2026/03/02 10:00:02.000, 0, 80.00 W, [N/A]\n",
             c));
  EXPECT_EQ(c.samples[0].Get(Signal::kPower), 90'000);
  EXPECT_EQ(c.samples[1].Get(Signal::kPower), 91'000);
  EXPECT_TRUE(c.samples[2].Lacks(Signal::kPower));
}

TEST(SmiRows, FaultsAreCountedWithThePlaceOfTheFirst) {
  struct Case {
    const char* cell;
    QualityId id;
  };
  for (const Case& k : {Case{"300 %", QualityId::kOutOfRange}, Case{"-7 %", QualityId::kOutOfRange},
                        Case{"NaN", QualityId::kNotFinite}, Case{"inf %", QualityId::kNotFinite},
                        Case{"[N/A]", QualityId::kUnavailableValue}, Case{"7", QualityId::kUnitAssumed}}) {
    for (const int at : {0, 98, 3000, 11'999}) {
      std::string text = "nohup: ignoring input\n\ntimestamp, index, utilization.gpu\n";
      for (int i = 0; i < 12'000; ++i) {
        const bool odd = i == at || i == at + 40;
        text += fmt::format("{}, 0, {}\n", Stamp(i), odd ? k.cell : "50 %");
      }
      for (const int threads : {1, 4}) {
        ImportOptions options;
        options.threads = threads;
        Collected c;
        ASSERT_TRUE(Import(text, c, options));
        EXPECT_EQ(c.quality.Get(k.id).first_place, fmt::format("gpu.csv:{}", at + 4)) << k.cell << ", " << threads;
      }
    }
  }
}

TEST(SmiRows, MoreGpusThanAnybodyHasAreRefused) {
  const auto log = [](int gpus) {
    std::string text = "timestamp, uuid, utilization.gpu [%]\n";
    for (int i = 0; i < gpus; ++i) {
      text += fmt::format("2026/03/02 10:00:00.000, GPU-{:08x}-4d1c-11ee-9a6b-00000000000a, 50 %\n", i);
    }
    return text;
  };
  Collected c;
  EXPECT_TRUE(Import(log(20'000), c));
  Collected more;
  const Result<void> refused = Import(log(20'001), more);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "gpu.csv:20002: column 'uuid' names more than 20000 GPUs; check --columns gpu=");
}

// A masked UUID counts once, and so does every GPU, however many workers met it.
TEST(SmiRows, WhatIsSaidOfAGpuIsSaidOnceOnAnyNumberOfThreads) {
  std::string text = "timestamp, uuid, index, utilization.gpu [%]\n";
  for (int i = 0; i < 20'000; ++i) {
    text += Stamp(i % 3600) + ", GPU-00000000-0000-0000-0000-000000000000, 0, 50 %\n";
  }
  for (const int threads : {1, 4}) {
    ImportOptions options;
    options.threads = threads;
    Collected c;
    ASSERT_TRUE(Import(text, c, options));
    EXPECT_EQ(c.quality.CountOf(QualityId::kMaskedUuid), 1) << threads;
  }
}

// A number is the same whether it is the first of its form or one of many, and as ReadQuantity reads it.
TEST(SmiRows, EveryFormOfANumberIsReadByOneRule) {
  const std::array<const char*, 3> power = {" W", " mW", " kW"};
  const std::array<const char*, 4> clock = {" MHz", " kHz", " GHz", " Hz"};
  std::mt19937 random(11);
  for (std::size_t form = 0; form < 60; ++form) {
    const std::size_t decimals = form % 10;
    std::string text = "timestamp, index, power.draw, clocks.sm\n";
    std::vector<std::pair<std::string, std::string>> cells;
    for (int i = 0; i < 40; ++i) {
      const auto number = [&] {
        std::string digits = std::to_string(1 + random() % 90);
        if (decimals > 0) digits += '.';
        for (std::size_t d = 0; d < decimals; ++d) digits += static_cast<char>('0' + random() % 10);
        return digits;
      };
      cells.emplace_back(number() + power[form % 3], number() + clock[form % 4]);
      text += Stamp(i) + ", 0, " + cells.back().first + ", " + cells.back().second + "\n";
    }
    Collected c;
    ASSERT_TRUE(Import(text, c));
    ASSERT_EQ(c.samples.size(), cells.size());
    for (std::size_t i = 0; i < cells.size(); ++i) {
      EXPECT_EQ(c.samples[i].Get(Signal::kPower), ReadQuantity(cells[i].first, Unit::kMilliwatt, "").value)
          << cells[i].first;
      EXPECT_EQ(c.samples[i].Get(Signal::kSmClock), ReadQuantity(cells[i].second, Unit::kKilohertz, "").value)
          << cells[i].second;
    }
  }
}

}  // namespace
}  // namespace idleburn
