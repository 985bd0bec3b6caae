#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "support/documented_keys.h"
#include "top/top_output.h"

namespace idleburn {
namespace {

using nlohmann::json;

// One priced GPU that was read whole, one that was not, and a process on each.
TopView View() {
  TopView view;
  view.time = Instant::FromNanos(1'763'755'200 * kNanosPerSecond);
  view.rate.kind = RateKind::kGiven;
  view.rate.per_gpu_hour = Money::Cents(250);
  view.rate.source = "--price 2.5";
  TopGpu read;
  read.name = "GPU 0";
  read.phase = Phase::kProductive;
  read.last[Index(Signal::kUtilization)] = 85'000'000;
  read.last[Index(Signal::kGrEngineActive)] = 86'000'000;
  read.last[Index(Signal::kSmActive)] = 60'500'000;
  read.last[Index(Signal::kPower)] = 400'250;
  read.last[Index(Signal::kMemoryUsed)] = 7;
  read.last[Index(Signal::kMemoryTotal)] = 9;
  read.last[Index(Signal::kProcesses)] = 1;
  read.per_hour = Money::Cents(250);
  read.since_start.window_ns = 3 * kNanosPerSecond;
  read.since_start.phase_ns[static_cast<std::size_t>(Phase::kProductive)] = 2 * kNanosPerSecond;
  read.since_start.unobserved_ns = kNanosPerSecond;
  read.since_start.total = Money::Nano(3'000);
  read.since_start.phase_cost[static_cast<std::size_t>(Phase::kProductive)] = Money::Nano(2'000);
  read.since_start.unobserved_cost = Money::Nano(1'000);
  TopGpu other;
  other.name = "GPU 1";
  other.unobserved = "gap";
  view.gpus = {read, other};
  view.whole = read.since_start;
  TopProcess alone;
  alone.pid = 11;
  alone.gpus = {0};
  alone.memory = 5;
  alone.per_hour = Money::Cents(250);
  alone.command = "python\ntrain.py";
  TopProcess unpriced;
  unpriced.pid = 12;
  unpriced.gpus = {0, 1};
  unpriced.shares = true;
  view.processes.list = {alone, unpriced};
  return view;
}

TEST(TopJsonTest, AMomentIsOneLineOfExactFigures) {
  const std::string line = TopJson(View(), std::array<std::string, 1>{"GPU 1 was lost"}, {});
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const json document = json::parse(line);
  const json& read = document["gpus"][0];
  EXPECT_EQ(read["phase"], "productive");
  EXPECT_EQ(read["sm_active_percent"], 60.5);
  EXPECT_EQ(read["power_w"], 400.25);
  EXPECT_EQ(read["since_start"]["gpu_seconds"]["productive"], 2);
  EXPECT_EQ(read["since_start"]["gpu_seconds"]["total"], 3);
  EXPECT_EQ(read["since_start"]["cost"]["total_exact"], "0.000003");
  EXPECT_EQ(read["since_start"]["cost"]["idle_exact"], "0.00");
  EXPECT_EQ(document["processes"][0]["per_hour"], "2.50");
  EXPECT_EQ(document["processes"][0]["gpus"], json::array({"GPU 0"}));
  EXPECT_EQ(document["notes"], json::array({"GPU 1 was lost"}));
}

TEST(TopJsonTest, WhatIsNotKnownIsNull) {
  const json document = json::parse(TopJson(View(), {}, {}));
  const json& other = document["gpus"][1];
  for (const char* key : {"phase", "utilization_percent", "power_w", "memory_used_bytes", "processes", "per_hour"}) {
    EXPECT_TRUE(other[key].is_null()) << key;
  }
  EXPECT_EQ(other["why_no_phase"], "gap");
  EXPECT_TRUE(other["since_start"]["cost"]["total"].is_null());
  EXPECT_TRUE(document["processes"][1]["per_hour"].is_null());
  EXPECT_TRUE(document["processes"][1]["memory_bytes"].is_null());
}

TEST(TopJsonTest, EveryKeyIsDocumented) {
  TopView unsettled = View();
  unsettled.rate = {};
  unsettled.rate.reason = "ambiguous_price";
  unsettled.rate.low = Money::Cents(100);
  unsettled.rate.high = Money::Cents(300);
  const std::array<std::string, 1> notes = {"a note"};
  test::ExpectDocumented("idleburn.top/1", std::array{TopJson(View(), notes, {}), TopJson(unsettled, notes, {})});
}

}  // namespace
}  // namespace idleburn
