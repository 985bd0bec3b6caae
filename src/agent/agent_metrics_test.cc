#include "agent/agent_metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "support/documented_keys.h"

namespace idleburn {
namespace {

constexpr std::int64_t kBorn = 1'790'000'000 / 3600 * 3600;
constexpr std::size_t kGpus = 8;

std::size_t SeriesOf(const std::vector<MetricFamily>& families) {
  std::size_t series = 0;
  for (const MetricFamily& family : families) series += family.samples.size();
  return series;
}

// A node of eight busy GPUs. Every 72 s, which is 50 times an hour, the job on one of them ends and another begins.
class BusyNode {
 public:
  // `wasteful`: every job has every signal that a job on a node with others can have.
  explicit BusyNode(bool wasteful = false) : counters_(kBorn, 3600), wasteful_(wasteful) {
    for (std::size_t gpu = 0; gpu < kGpus; ++gpu) {
      counters_.Enter({"GPU-" + std::to_string(gpu), "NVIDIA H100 80GB HBM3", static_cast<int>(gpu), 1, 1});
      jobs_.push_back(NewJob());
    }
    Hold();
  }

  // Counts a second; scraped twice a minute.
  void Step() {
    const std::int64_t second = counters_.next();
    if (second != kBorn && second % 72 == 0) {
      jobs_[static_cast<std::size_t>(second / 72) % kGpus] = NewJob();
      Hold();
    }
    GpuSecond busy;
    busy.phase_ms[2] = kMsPerSecond;
    if (wasteful_ && second % 72 < 62) {
      busy = {};
      busy.phase_ms[0] = kMsPerSecond;
      busy.idle_ms = {400, 300, 300};
    } else if (wasteful_) {
      busy = {};
      busy.phase_ms[1] = busy.phase_ms[3] = kMsPerSecond / 2;
      busy.spin_ms = busy.slowed_ms = busy.clock_lost_ms = 100;
      busy.link_full = true;
    }
    counters_.Add(std::vector<GpuSecond>(kGpus, busy));
    if (second % 30 == 0) counters_.OnScrape();
    std::ignore = counters_.TakeEnded();
  }
  [[nodiscard]] NodeView View() const {
    NodeView view{counters_,
                  {},
                  {},
                  {},
                  Instant::FromNanos(counters_.next() * kNanosPerSecond),
                  Instant::FromNanos(kBorn * kNanosPerSecond)};
    for (std::size_t gpu = 0; gpu < kGpus; ++gpu) {
      GpuGauges gauges;
      gauges.place = gpu;
      gauges.utilization = gauges.memory_used = gauges.memory_total = gauges.power = gauges.temperature = 1;
      gauges.sm_active = gauges.pcie_link = gauges.nvlink_link = 1;
      gauges.price = Money::Cents(295);
      gauges.currency = "USD";
      gauges.price_source = "--price 2.95";
      view.gauges.push_back(gauges);
    }
    view.host.rise.fill(1);
    for (const char* source : {"nvml", "host", "owners"}) view.health.up[source] = true;
    return view;
  }
  [[nodiscard]] const NodeCounters& counters() const { return counters_; }

 private:
  Owner NewJob() {
    ++made_;
    const std::string number = std::to_string(made_);
    return {"c1",
            number,
            "user" + std::to_string(made_ % 7),
            "team" + std::to_string(made_ % 5),
            "exp",
            Instant::FromNanos(counters_.next() * kNanosPerSecond)};
  }
  void Hold() {
    Holdings holdings;
    for (std::size_t gpu = 0; gpu < kGpus; ++gpu)
      holdings.held.push_back({"GPU-" + std::to_string(gpu), jobs_[gpu], OwnerProof::kScheduler, 1, 1, {}});
    counters_.Hold(counters_.next() * 1000, holdings);
  }

  NodeCounters counters_;
  bool wasteful_;
  std::vector<Owner> jobs_;
  int made_ = 0;
};

TEST(AgentMetrics, ADayOfFiftyTurnoversAnHourStaysUnderAThousandSeriesAndDoesNotGrow) {
  BusyNode node;
  std::size_t most = 0;
  std::size_t most_bytes = 0;
  std::size_t bytes_of_second_hour = 0;
  std::size_t jobs_of_second_hour = 0;
  for (int minute = 0; minute < 24 * 60; ++minute) {
    for (int second = 0; second < 60; ++second) node.Step();
    most = std::max(most, SeriesOf(AgentFamilies(node.View(), "n1", "1")));
    const std::size_t bytes = node.counters().ToBytes().size();
    most_bytes = std::max(most_bytes, bytes);
    if (minute < 120) bytes_of_second_hour = std::max(bytes_of_second_hour, bytes);
    if (minute < 120) jobs_of_second_hour = std::max(jobs_of_second_hour, node.counters().jobs().size());
    EXPECT_LE(node.counters().jobs().size(), std::max<std::size_t>(jobs_of_second_hour, 1) + kGpus) << minute;
  }
  EXPECT_LT(most, 1000U);
  EXPECT_GT(most, 400U);  // the view above shows every family
  // Numbers of jobs and counts get a few more digits.
  EXPECT_LE(most_bytes, bytes_of_second_hour + bytes_of_second_hour / 10);
  EXPECT_EQ(node.counters().capped(), 0);
}

// The budget of a node holds however much its jobs waste.
TEST(AgentMetrics, JobsThatWasteInEveryWayStayUnderAThousandSeries) {
  BusyNode node(true);
  std::size_t most = 0;
  std::size_t signals = 0;
  for (int second = 0; second < 2 * 3600; ++second) {
    node.Step();
    if (second % 10 != 0) continue;
    const std::vector<MetricFamily> families = AgentFamilies(node.View(), "n1", "1");
    most = std::max(most, SeriesOf(families));
    for (const MetricFamily& family : families) {
      if (family.name == "idleburn_job_signal_seconds") signals = std::max(signals, family.samples.size());
    }
  }
  RecordProperty("most_series", static_cast<int>(most));
  EXPECT_LT(most, 1000U) << signals << " of signals";
  EXPECT_GE(signals, 7U * kGpus);
}

// A signal that never happened has no series, and the node says which signals it can tell.
TEST(AgentMetrics, OnlySignalsThatHappenedHaveSeries) {
  BusyNode node;
  for (int second = 0; second < 100; ++second) node.Step();
  NodeView view = node.View();
  view.tells[Index(JobSignal::kSpinWait)] = true;
  for (const MetricFamily& family : AgentFamilies(view, "n1", "1")) {
    if (family.name == "idleburn_job_signal_seconds") {
      EXPECT_TRUE(family.samples.empty());
    }
    if (family.name != "idleburn_job_signal_known") continue;
    ASSERT_EQ(family.samples.size(), kJobSignalCount);
    for (const MetricSample& sample : family.samples)
      EXPECT_EQ(sample.value.mantissa, sample.labels.find("spin_wait") == std::string::npos ? 0 : 1) << sample.labels;
  }
}

TEST(AgentMetrics, JobsAreADocumentWithTheSumsOfTheCounters) {
  BusyNode node;
  for (int second = 0; second < 100; ++second) node.Step();
  const auto document = nlohmann::json::parse(JobsJson(node.View(), "n1"));
  EXPECT_EQ(document["schema"], "idleburn.jobs/1");
  double seconds = 0;
  std::size_t running = 0;
  for (const auto& job : document["jobs"]) {
    seconds += job["seconds"]["productive"].get<double>();
    running += job["running"].get<bool>() ? 1U : 0U;
    EXPECT_EQ(job["cluster"], "c1");
  }
  EXPECT_NEAR(seconds, 100.0 * kGpus, 1e-6);
  EXPECT_EQ(running, kGpus);
  test::ExpectDocumented("idleburn.jobs/1", std::vector{document.dump()});
}

}  // namespace
}  // namespace idleburn
