// Whatever an importer may hand on, to the end: classified, priced, explained and printed. Every signal lies anywhere
// in its range, its ends more often than chance has it; stamps jump, repeat and go back.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "classify/run_classifier.h"
#include "report/write_audit.h"
#include "support/advice_on.h"
#include "support/property.h"
#include "telemetry/sample.h"

namespace idleburn {
namespace {

using Json = nlohmann::json;

class AnyReadings {
 public:
  explicit AnyReadings(std::uint32_t seed) : random_(seed) {}

  std::int64_t Between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  bool OneIn(std::int64_t n) { return Between(1, n) == 1; }

  // The boards of a run.
  void EnterDevices(DeviceTable& devices) {
    const char* const names[] = {"NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-40GB", "Voodoo 5", ""};
    const std::int64_t boards = Between(1, 4);
    for (std::int64_t i = 0; i < boards; ++i) {
      DeviceKey key;
      key.index = static_cast<int>(i);
      key.name = names[Between(0, 3)];
      ids_.push_back(devices.Enter(key));
    }
  }

  std::vector<Sample> Samples() {
    constexpr std::int64_t kPeriods[] = {50'000'000, 107'800'000, kNanosPerSecond, 15 * kNanosPerSecond};
    const std::int64_t period = kPeriods[Between(0, 3)];
    const auto asked = static_cast<std::uint32_t>(Between(0, (1 << kSignalCount) - 1)) | Bit(Signal::kUtilization);
    std::vector<Sample> samples;
    std::int64_t time = Between(0, 1'800'000'000) * kNanosPerSecond;
    for (std::int64_t sweeps = Between(1, 400); sweeps > 0; --sweeps) {
      time += period;
      if (OneIn(50)) time += Between(0, 40) * 24 * kNanosPerHour;
      if (OneIn(50)) time = std::max<std::int64_t>(0, time - Between(0, kNanosPerHour));
      for (const DeviceId id : ids_) {
        if (OneIn(20)) continue;
        samples.push_back(Of(id, time, asked));
        if (OneIn(50)) samples.push_back(samples.back());
      }
    }
    return samples;
  }

 private:
  Sample Of(DeviceId id, std::int64_t time, std::uint32_t asked) {
    Sample sample;
    sample.device = id;
    sample.time = Instant::FromNanos(time);
    for (const SignalInfo& info : kSignals) {
      if ((asked & Bit(info.id)) == 0) continue;
      if (OneIn(30)) {
        sample.SetUnavailable(info.id, Unobserved::kSentinel);
      } else {
        sample.Set(info.id, Value(RangeOf(info.unit)));
      }
    }
    return sample;
  }
  std::int64_t Value(const ValueRange& range) {
    const std::int64_t which = Between(0, 5);
    return which == 0 ? range.low : which == 1 ? range.high : Between(range.low, range.high);
  }

  std::mt19937 random_;
  std::vector<DeviceId> ids_;
};

void CheckTimes(const RunResult& run) {
  for (const DeviceResult& d : run.devices) {
    const DeviceTotals& t = d.totals;
    RC_ASSERT(t.ObservedNs() + t.UnobservedNs() == d.WindowNs());
    RC_ASSERT(t.utilization.ns == t.ObservedNs());
    RC_ASSERT(t.utilization.area >= 0 && t.utilization.area <= static_cast<Int128>(kFull) * t.ObservedNs());
    RC_ASSERT(t.idle_held_ns + t.idle_empty_ns + t.idle_unknown_ns == t.phase_ns[0]);
    RC_ASSERT(t.slowdown_with_loss_ns <= d.WindowNs() && t.slowdown_with_loss_ns >= 0);
    RC_ASSERT(d.spin.time.ns >= 0 && d.spin.time.ns <= t.phase_ns[3]);
  }
}

void CheckCosts(const CostReport& cost) {
  const UsageCost& whole = cost.whole;
  RC_ASSERT(whole.window_ns == whole.observed_ns + whole.unobserved_ns + whole.unallocated_ns);
  RC_ASSERT(cost.waste_share >= 0 && cost.waste_share <= 1);
  Money devices;
  for (const CostReport::DeviceCost& d : cost.devices) devices = Add(devices, *d.usage.total).value();
  RC_ASSERT(devices == *whole.total);
  Money parts = Add(*whole.unobserved_cost, *whole.unallocated_cost).value();
  for (const std::optional<Money>& phase : whole.phase_cost) parts = Add(parts, *phase).value();
  RC_ASSERT(parts == *whole.total);
  RC_ASSERT(*whole.waste >= Money() && *whole.waste <= *whole.total);
  RC_ASSERT(whole.energy_kwh.value_or(0) >= 0);
}

void CheckReports(const AuditReport& report) {
  const Json json = Json::parse(AuditJson(report));
  RC_ASSERT(json["schema"] == "idleburn.audit/1");
  for (const Json& finding : json["findings"]) {
    const double share = finding["share"].is_null() ? 0 : finding["share"].get<double>();
    RC_ASSERT(share >= 0 && share <= 1 + 1e-9);
  }
  for (const std::string& text :
       {AuditText(report, 80, true), AuditMarkdown(report), AuditCsv(report), AuditHtml(report)}) {
    RC_ASSERT(!text.empty());
    for (const char* none : {" nan ", "-nan", "$nan", "nan %", " inf ", "$inf", "inf %"}) {
      RC_ASSERT(text.find(none) == std::string::npos);
    }
  }
}

TEST(AnyAuditTest, WhateverIsReadEndsInAReportThatAddsUp) {
  test::ExpectProperty([] {
    AnyReadings any(*rc::gen::arbitrary<std::uint32_t>());
    DeviceTable devices;
    any.EnterDevices(devices);
    DataQuality quality;
    const Thresholds thresholds;
    RunClassifier classifier(thresholds, devices, quality, [](std::string_view) { return BoardFacts(); });
    classifier.OnSamples(any.Samples());
    const RunResult run = classifier.Finish();
    CheckTimes(run);
    Rate rate;
    rate.per_gpu_hour = Money::Nano(any.Between(0, 9'000'000'000'000));
    const WorkDone work = ParseWork("samples=0.000000001,tokens=1000000").value();
    const EnergyPrice energy{Money::Cents(30), 400};
    Result<CostReport> cost = PriceRun(run, devices, {}, rate, work, energy, 720);
    RC_ASSERT(cost.has_value());
    CheckCosts(*cost);
    AuditReport report;
    report.advice = testing::AdviceOn({run, devices, *cost});
    report.run = run;
    report.devices = &devices;
    report.quality = &quality;
    report.cost = *std::move(cost);
    CheckReports(report);
  });
}

}  // namespace
}  // namespace idleburn
