// Ten minutes of a troubled node, measured by the sampler's own loop on a clock that the test moves: the audit of the
// recording is the live audit, in every field.
#include <gtest/gtest.h>

#include <random>
#include <tuple>

#include "audit/audit_plan.h"
#include "audit/classify_run.h"
#include "audit/live_record.h"
#include "audit/read_run.h"
#include "config/settings.h"
#include "measure/host_lane.h"
#include "measure/sampler.h"
#include "report/write_audit.h"
#include "support/fake_proc.h"
#include "support/program.h"
#include "support/read_inputs.h"
#include "support/stand_in.h"

namespace idleburn::testing {
namespace {

constexpr int kSeconds = 600;
constexpr int kWorkload = 4000;

// Three GPUs, one with MIG instances. What each does changes every few seconds; GPUs fall off and come back, the driver
// is loaded anew, answers slowly, and its ring is too short for what it then misses.
std::string Script(std::mt19937& random) {
  const auto below = [&](int n) { return std::to_string(random() % static_cast<unsigned>(n)); };
  std::string script =
      "gpu 0\ngpu 1 window=250ms ring=8 limit=500\ngpu 2 samples=0 gpm=0\ngpu 3\n"
      "mig 3 gi=1 profile=3g.40gb slices=3 memory=40GiB\nmig 3 gi=2 profile=1g.10gb slices=1\n"
      "at 130s gpu 1 lost=1\nat 171s gpu 1 lost=0\nat 260s xid 0 31\nat 300s reload\n"
      "delay nvmlDeviceGetClockInfo 700ms gpu=0 from=400s times=6\n"
      "fail nvmlDeviceGetTotalEnergyConsumption 999 gpu=2 from=430s times=1\nnarrow_pcie\n";
  for (const std::string gpu : {"0", "1", "2", "3", "3/1", "3/2"}) {
    for (int at = 0; at < kSeconds; at += 1 + static_cast<int>(random() % 9)) {
      const bool idle = random() % 4 == 0;
      script += "at " + std::to_string(at) + "s gpu " + gpu + " util=" + (idle ? "0" : below(101)) +
                " sm=" + below(101) + " power=" + std::to_string(70 + random() % 600) +
                " clock=" + std::to_string(900 + random() % 1081) + " reasons=" + below(256) + " rx=" + below(20000) +
                " memory=" + below(60) + "GiB procs=" + (random() % 3 == 0 ? "none" : "7:" + below(40) + "GiB") + "\n";
    }
  }
  return script;
}

WorkMark Mark(Instant time, std::int32_t rank, std::int64_t steps) {
  WorkMark mark;
  mark.time = time;
  mark.rank = rank;
  mark.done[WorkUnit::kStep] = steps;
  if (rank == 0) mark.done[WorkUnit::kSample] = 32 * steps;
  return mark;
}

// Measures the node into `record`, by the lanes that a live session has.
void Measure(const StandIn& driver, const test::FakeRoot& root, std::mt19937& random, LiveRecord& record) {
  const auto clock = std::make_shared<StandInClock>(driver);
  const TimeLine line(clock->Read());
  record.OnFact(RunWindow::StartFact(line.At(driver.Now())));
  auto library = NvmlLibrary::Open(driver.path(), clock);
  ASSERT_TRUE(library);
  auto gpus = NvmlLane::Open(std::move(*library), Nanos(100'000'000), record.inputs().devices, record, clock, line);
  ASSERT_TRUE(gpus);
  std::vector<std::unique_ptr<Lane>> lanes;
  lanes.push_back(std::make_unique<ClockLane>(clock));
  lanes.push_back(std::move(*gpus));
  test::FakeProcesses workload(root);
  workload[kWorkload].name = "python train.py";
  workload[kWorkload + 1].parent = kWorkload;
  workload.Publish();
  HostWorkload watched;
  watched.pid = kWorkload;
  lanes.push_back(std::make_unique<HostLane>(HostLaneSpec{root.path(), watched}));
  TickLoop loop(Nanos(100'000'000), clock, line, std::move(lanes), record);
  std::int64_t steps = 0;
  while (driver.Now() < Nanos(kSeconds * kNanosPerSecond)) {
    loop.Step({});
    if (random() % 4 == 0) record.OnWork(Mark(line.At(driver.Now()), static_cast<int>(random() % 2), ++steps));
    if (random() % 1000 == 0) driver.StepWall(Nanos(static_cast<std::int64_t>(random() % 4000) * 1'000'000));
    if (random() % 1500 == 0) driver.Advance(Nanos(static_cast<std::int64_t>(random() % 8000) * 1'000'000));
    if (loop.served() % 10 != 0) continue;  // the host is read whole once a second
    root.Write("/proc/loadavg", "0.20 0.18 0.12 1/" + std::to_string(80 + random() % 20) + " 11206\n");
    workload[kWorkload + 1].cpu_ticks += static_cast<std::int64_t>(random() % 200);
    workload[kWorkload].read_bytes += static_cast<std::int64_t>(random() % 1'000'000);
    workload.Publish();
    root.Write("/proc/vmstat", "pgmajfault " + std::to_string(steps) + "\n");
  }
  loop.Finish();
  record.OnFact(RunWindow::EndFact(line.At(driver.Now())));
}

// All fields; a new one makes this fail to compile.
auto Fields(const DeviceResult& r) {
  const auto& [device, counter, first, last, period, periods, collection, fast, spans, tick_window, totals, spin,
               power_limit, default_limit, max_sm, throttled, runs] = r;
  const auto& [evidence, time, idle, limit, below, lacks, refused, work_from, dim] = spin;
  return std::tie(device, counter, first, last, period, periods, collection, fast, spans, tick_window, totals, evidence,
                  time, idle, limit, below, lacks, refused, work_from, dim, power_limit, default_limit, max_sm,
                  throttled);
}

void ExpectSame(const RunInputs& live, const RunInputs& replayed) {
  EXPECT_EQ(live.run.start, replayed.run.start);
  EXPECT_EQ(live.run.end, replayed.run.end);
  ASSERT_EQ(live.run.devices.size(), replayed.run.devices.size());
  for (std::size_t i = 0; i < live.run.devices.size(); ++i) {
    EXPECT_TRUE(Fields(live.run.devices[i]) == Fields(replayed.run.devices[i])) << "device " << i;
    EXPECT_EQ(live.run.devices[i].runs.size(), replayed.run.devices[i].runs.size());
  }
  for (std::size_t i = 0; i < kQualityCount; ++i) {
    const auto id = static_cast<QualityId>(i);
    EXPECT_EQ(live.quality.CountOf(id), replayed.quality.CountOf(id)) << i;
  }
  for (DeviceId id = 0; id < live.devices.size(); ++id) {
    EXPECT_EQ(live.devices[id].uuid, replayed.devices[id].uuid);
    EXPECT_EQ(live.devices[id].counter, replayed.devices[id].counter);
  }
  EXPECT_EQ(live.summary.facts(), replayed.summary.facts());
  EXPECT_EQ(live.summary.Work(), replayed.summary.Work());
  for (const HostScope scope : {HostScope::kMachine, HostScope::kWorkload}) {
    const auto a = live.summary.Use(scope);
    const auto b = replayed.summary.Use(scope);
    ASSERT_TRUE(a && b);
    EXPECT_EQ(std::tie(a->first, a->last, a->change, a->most), std::tie(b->first, b->last, b->change, b->most));
    EXPECT_FALSE(live.summary.host().Of(scope).buckets.empty());
    EXPECT_EQ(live.summary.host().Of(scope), replayed.summary.host().Of(scope));
  }
  const auto pace = live.summary.Pace();
  const auto same_pace = replayed.summary.Pace();
  ASSERT_TRUE(pace && same_pace);
  EXPECT_EQ(std::tie(pace->time, pace->done), std::tie(same_pace->time, same_pace->done));
  EXPECT_EQ(live.summary.window().start, replayed.summary.window().start);
  EXPECT_EQ(live.summary.window().end, replayed.summary.window().end);
  ASSERT_EQ(live.summary.notes().size(), replayed.summary.notes().size());
  for (std::size_t i = 0; i < live.summary.notes().size(); ++i) {
    const Note& x = live.summary.notes()[i];
    const Note& y = replayed.summary.notes()[i];
    EXPECT_EQ(std::tie(x.time, x.kind, x.text), std::tie(y.time, y.kind, y.text));
  }
}

// What `run` would print of it, less the name of its input.
nlohmann::json ReportOf(const std::shared_ptr<RunInputs>& run, const TempFolder& folder) {
  const Result<Settings> settings = Settings::Load("", {{"--price", "3600"}});
  EXPECT_TRUE(settings);
  ReportRequest request;
  request.output = (folder.path() / "report.json").string();
  const Result<AuditPlan> plan = PlanAudit(request, *settings, {});
  EXPECT_TRUE(plan);
  const Result<Audited> audited = Audit([&]() -> Result<std::shared_ptr<RunInputs>> { return run; }, *plan);
  EXPECT_TRUE(audited);
  EXPECT_TRUE(WriteAudit(*audited, *plan, {}).written);
  nlohmann::json report = nlohmann::json::parse(ReadText(request.output), nullptr, false);
  EXPECT_TRUE(report.is_object());
  report.erase("inputs");
  return report;
}

TEST(TenMinutesTest, TheAuditOfTheRecordingIsTheLiveAuditInEveryField) {
  for (const unsigned seed : {1U, 2U}) {
    std::mt19937 random(seed);
    const TempFolder folder;
    const std::string path = (folder.path() / "run.idleburn").string();
    const test::FakeRoot root;
    const StandIn driver(Script(random));
    const Thresholds thresholds;
    LiveRecord record(thresholds);
    ASSERT_TRUE(record.RecordTo(path, driver.Wall(), "-o", true));
    Measure(driver, root, random, record);
    ASSERT_TRUE(record.Close());

    RunInputs& live = record.inputs();
    ASSERT_TRUE(ClassifyRun(live));
    ASSERT_EQ(live.run.devices.size(), 6U);
    std::int64_t unobserved = 0;
    for (const DeviceResult& device : live.run.devices) {
      EXPECT_GE(device.WindowNs(), kSeconds * kNanosPerSecond);
      unobserved += device.totals.UnobservedNs();
    }
    EXPECT_GT(unobserved, 30 * kNanosPerSecond);  // the trouble took place
    const ImportOptions options;
    const Result<std::shared_ptr<RunInputs>> replayed = Read({path}, options, thresholds);
    ASSERT_TRUE(replayed) << replayed.error().message;
    ASSERT_TRUE(ClassifyRun(**replayed));
    ExpectSame(live, **replayed);
    const nlohmann::json report = ReportOf(record.Recorded(), folder);
    EXPECT_GT(std::stod(report["cost"]["total"].get<std::string>()), 0);
    EXPECT_FALSE(report["findings"].empty());
    EXPECT_EQ(nlohmann::json::diff(report, ReportOf(*replayed, folder)), nlohmann::json::array());
    nlohmann::json audit = AuditJsonOf("--price 3600 " + path);
    audit.erase("inputs");
    EXPECT_EQ(nlohmann::json::diff(report, audit), nlohmann::json::array());
  }
}

}  // namespace
}  // namespace idleburn::testing
