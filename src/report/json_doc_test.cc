#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "diagnose/trace_diagnosis.h"
#include "report/write_audit.h"
#include "support/audit_fixture.h"
#include "support/documented_keys.h"
#include "support/tiny_profile.h"

// docs/json/ and AuditJson describe each other: every key that is written is documented, every documented key
// is written, and every null and its reason is one the document names.
namespace idleburn {
namespace {

using Json = nlohmann::json;
using test::NullColumn;

// The name a key has in the document: names that are data stand there as <placeholders>.
std::string Segment(const std::string& parent, const std::string& key) {
  const auto& phases = kPhaseNames;
  if ((parent.ends_with("phases") || parent.ends_with("ticks")) &&
      std::find(phases.begin(), phases.end(), key) != phases.end()) {
    return "<phase>";
  }
  if (parent.ends_with("by_reason") || parent.ends_with("event_reasons_gpu_hours")) return "<reason>";
  if (parent.ends_with("per_unit")) return "<unit>";
  if (parent.ends_with("idle_attribution_ms")) return "<class>";
  if (parent.ends_with("traced[].facts")) return "<fact>";
  if (parent == "host") return "<scope>";
  if (parent == "host.<scope>" && key != "watched_s") return "<signal>";
  return key;
}

class Walker {
 public:
  explicit Walker(const NullColumn& documented) : documented_(documented) {}

  void Walk(const std::string& path, const Json& value) {
    if (value.is_object() && !value.empty()) {
      for (const auto& [key, child] : value.items()) WalkKey(path, key, child, value);
    } else if (value.is_array() && value.empty() && IsListOfObjects(path)) {
      return;  // its keys are met where it is not empty
    } else if (value.is_array() && (value.empty() || !value[0].is_object())) {
      Meet(path + "[]");
    } else if (value.is_array()) {
      for (const Json& item : value) Walk(path + "[]", item);
    } else if (!value.is_object()) {
      Meet(path);
      EXPECT_FALSE(value.is_null() && NullOf(path).empty()) << path << " is null, which docs/json/ does not explain";
    }
  }
  [[nodiscard]] const std::set<std::string>& met() const { return met_; }

 private:
  void WalkKey(const std::string& path, const std::string& key, const Json& child, const Json& siblings) {
    const auto base = [&](std::string_view suffix) {
      return key.ends_with(suffix) && siblings.contains(key.substr(0, key.size() - suffix.size()))
                 ? key.substr(0, key.size() - suffix.size())
                 : std::string();
    };
    const std::string dot = path.empty() ? "" : ".";
    if (const std::string of = base("_reason"); !of.empty()) {
      EXPECT_TRUE(siblings[of].is_null()) << path << dot << of;
      EXPECT_NE(NullOf(path + dot + Segment(path, of)).find("`" + child.get<std::string>() + "`"), std::string::npos)
          << path << dot << of << " is null for a reason docs/json/ does not name: " << child;
    } else if (const std::string money = base("_exact"); !money.empty()) {
      EXPECT_TRUE(siblings[money].is_string()) << path << dot << money;
    } else {
      Walk(path + dot + Segment(path, key), child);
    }
  }
  [[nodiscard]] bool IsListOfObjects(const std::string& path) const {
    const auto found = documented_.lower_bound(path + "[].");
    return found != documented_.end() && found->first.starts_with(path + "[].");
  }
  // An entry of per_gpu has the keys of the whole as well as its own.
  [[nodiscard]] std::string Documented(const std::string& path) const {
    constexpr std::string_view kPerGpu = "per_gpu[].";
    if (documented_.contains(path) || !path.starts_with(kPerGpu)) return path;
    return path.substr(kPerGpu.size());
  }
  [[nodiscard]] std::string NullOf(const std::string& path) const {
    const auto found = documented_.find(Documented(path));
    return found == documented_.end() ? "" : found->second;
  }
  void Meet(const std::string& path) {
    EXPECT_TRUE(documented_.contains(Documented(path))) << path << " is not in docs/json/";
    met_.insert(Documented(path));
  }

  const NullColumn& documented_;
  std::set<std::string> met_;
};

// The first GPU used nearly all of its memory; `fits`: what would hold that.
void FillMemory(std::vector<PeakFit> fits, AuditReport* report) {
  DeviceTotals& totals = report->run.devices[0].totals;
  constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;
  totals.memory_total = 80 * kGibibyte;
  totals.memory_used.Add(kNanosPerSecond, 79 * kGibibyte);
  SignalRange& range = totals.range[Slot(Signal::kMemoryUsed)];
  range.peak = 79 * kGibibyte;
  range.seconds.Add(range.peak / SpreadStep(Unit::kByte), kNanosPerSecond);
  report->peak_fits = std::move(fits);
}

// An audit with what EightGpus has not: an owner, a MIG instance, event reasons, candidates, units of work, ids.
std::unique_ptr<AuditFixture> EverythingElse() {
  auto audit = std::make_unique<AuditFixture>();
  AuditFixture::Gpu gpu;
  gpu.percent = [](int s) { return s % 100; };
  audit->Add(gpu, 60);
  audit->Settle(std::nullopt);
  AuditReport& report = audit->report;
  DeviceKey instance;
  instance.uuid = "GPU-99999999-1111-2222-3333-444444444444";
  instance.mig = MigInstance{"7", "1g.10gb", 1};
  report.cost.Add({audit->devices.Enter(instance), 1.0 / 7, {}});
  audit->devices.NameCounter(report.run.devices[0].device, Signal::kEventReasons, "nvml.clocks_event_reasons.active");
  report.run.devices[0].totals.reasons_ns = kNanosPerSecond;
  report.cost.owners.push_back({"job 1", kNanosPerSecond, {}, true});
  report.cost.owners.push_back({"", kNanosPerSecond, {}, false});
  report.cost.rate.candidates.push_back({"aws:p5.48xlarge:on_demand@us-east-1", Money::Cents(295)});
  Rate dated;
  dated.kind = RateKind::kCatalogue;
  dated.per_gpu_hour = Money::Cents(295);
  dated.source = "catalogue: x";
  dated.as_of = Instant();
  report.cost.rates = {{report.cost.rate, 1, 0, kNanosPerSecond, {}}, {dated, 1, 0, kNanosPerSecond, Money::Cents(1)}};
  report.cost.price_remarks.emplace_back("contract c covers fewer GPUs");
  report.cost.per_unit["sample"] = Money::Cents(1);
  report.cost.per_unit["step"] = std::nullopt;  // so few that one costs more than an amount can be
  report.live.command = "train";
  report.live.exit = "exit 0";
  report.live.window = {Instant(), Instant()};
  report.live.host = {HostUse{}, std::nullopt};
  report.live.alerts = {Note{}};
  report.live.sampler = {{"sampler.ticks", "9"},        {"sampler.missed", "1"},   {"sampler.late_p99", "5"},
                         {"sampler.late_max", "6"},     {"sampler.work_p99", "7"}, {"sampler.work_max", "8"},
                         {"sampler.calls.f", "4 1 2 3"}};
  report.ids = IdsOf({{"run.id", "0f3a"}, {"env.SLURM_JOB_ID", "4711"}, {"env.WANDB_PROJECT", "bert"}});
  PeakFit fit;
  fit.gpu_name = audit->devices[report.run.devices[0].device].name;
  fit.cheapest = CheaperGpu{"H200", 141, Money::Cents(200), "acme:h200:on_demand@eu-1", Instant()};
  FillMemory({fit}, &report);
  return audit;
}

// What traces add: a loader that starves a device, and a device whose launches cannot be told.
std::unique_ptr<AuditFixture> Traced() {
  test::TinyProfile starved;
  for (std::int64_t i = 0; i < 5; ++i) {
    const std::int64_t at = 1000 * i;
    starved.Step(i, at, at + 1000 + (i == 2 ? 900 : 0)).Loader(at, at + 400).Frame("load", at, at + 400);
    starved.Kernel(at + 420, at + 800, at + 410).Comm(at + 700, at + 850, at + 690);
    starved.Copy(CopyKind::kHtoD, MemoryKind::kPinned, 4096, at + 860, at + 900, at + 855);
  }
  starved.builder().header().rank = 3;
  starved.builder().Device(0).model = "NVIDIA H100 80GB HBM3";
  starved.builder().AddScope("aten::mm", {400'000, 415'000}, 0, ScopeKind::kOperator);
  starved.builder().AddShapedOp("aten::mm", {400'000, 415'000}, 0, OpWork{1000, 100, false, false});
  starved.builder().header().profiler = "PyTorch profiler";
  starved.builder().header().facts["cupti"] = "26";
  test::TinyProfile unclear;
  unclear.Kernel(0, 10, 0).Kernel(30, 40, 25);
  std::vector<Profile> profiles;
  profiles.push_back(starved.Build());
  profiles.push_back(unclear.Build());
  profiles.back().correlation_by_process = false;
  profiles.back().calls.push_back(profiles.back().calls.back());  // another process uses the same ids
  profiles.back().calls.back().process = 1;
  auto audit = std::make_unique<AuditFixture>();
  AuditReport& report = audit->report;
  report.trace = DiagnoseProfiles(profiles);
  report.traced_only = true;
  report.run = TracedRun(profiles, *report.trace, audit->devices, audit->quality);
  audit->Settle(Money::Cents(400));
  report.advice.findings = report.trace->findings;
  return audit;
}

// All of it as one run of a log, read at one pace.
void AsOneRun(AuditReport* report) {
  const UsageCost& whole = report->cost.whole;
  CostReport::RunCost run;
  run.span = {report->run.start, report->run.end};
  run.gpus = report->cost.gpus;
  run.mean_utilization = whole.mean_utilization;
  for (std::size_t p = 0; p < kPhaseCount; ++p) {
    run.usage.ns[p] = whole.phase_ns[p];
    run.usage.cost[p] = whole.phase_cost[p];
  }
  run.usage.ns[kPhaseCount] = whole.unobserved_ns;
  run.usage.cost[kPhaseCount] = whole.unobserved_cost;
  report->cost.runs = {run};
  report->run.devices[0].periods = {{report->run.start, Nanos(kNanosPerSecond)}};
}

TEST(JsonDocTest, DocumentAndWriterDescribeEachOther) {
  const NullColumn documented = test::DocumentedKeys("idleburn.audit/1");
  ASSERT_GT(documented.size(), 100U);
  Walker walker(documented);
  const auto priced = EightGpus(Money::Cents(249));
  priced->report.thresholds.max_gap = Nanos(kNanosPerSecond);
  AsOneRun(&priced->report);
  FillMemory({}, &priced->report);
  AuditFixture nothing;
  nothing.Settle(std::nullopt);
  nothing.report.cost.rate.reason = "nothing_measured";
  nothing.report.live.no_gpu = "no driver";
  const auto unpriced = EightGpus(std::nullopt);
  const auto rest = EverythingElse();
  const auto traced = Traced();
  for (const AuditReport* report :
       {&priced->report, &unpriced->report, &rest->report, &nothing.report, &traced->report}) {
    walker.Walk("", Json::parse(AuditJson(*report)));
  }
  for (const auto& entry : documented) {
    EXPECT_TRUE(walker.met().contains(entry.first)) << entry.first << " is in docs/json/ but never written";
  }
}

}  // namespace
}  // namespace idleburn
