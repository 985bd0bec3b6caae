#include "support/agent_story.h"

namespace idleburn::testing {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

// A metric's value as text.
std::string Decimal(const MetricValue& value) {
  std::string digits = std::to_string(value.mantissa);
  if (value.decimals == 0) return digits;
  const auto places = static_cast<std::size_t>(value.decimals);
  if (digits.size() <= places) digits.insert(0, places + 1 - digits.size(), '0');
  return digits.substr(0, digits.size() - places) + "." + digits.substr(digits.size() - places);
}

}  // namespace

AgentStory::AgentStory(std::string node, const NodeGpuShare& gpu, std::int64_t born)
    : node_(std::move(node)), born_(born), counters_(born, 3600) {
  counters_.Enter(gpu);
  Holdings holdings;
  holdings.held.push_back(
      {gpu.uuid, {"c1", "job1", "ann", "vision", "exp", Instant::FromNanos(0)}, OwnerProof::kScheduler, 1, 1, {}});
  counters_.Hold(born * 1000, holdings);
  Scrape({});
}

void AgentStory::Live(const std::vector<While>& whiles) {
  for (const auto& [doing, minutes] : whiles) {
    for (int minute = 0; minute < minutes; ++minute) {
      ++minutes_;
      if (!doing.agent_runs) continue;
      const std::int64_t until = born_ + minutes_ * 60;
      if (counters_.next() < until - 60) counters_.AddWithout(until - 60, kAgentDown);
      while (counters_.next() < until) Count(doing);
      Scrape(doing);
    }
  }
}

std::string AgentStory::InputSeries() const {
  std::string yaml;
  for (const auto& [series, values] : values_) {
    yaml += "  - series: '" + series + "'\n    values: '";
    int next = 0;
    for (const auto& [minute, value] : values) {
      if (next < minute && next > 0) {
        yaml += "stale ";
        ++next;
      }
      for (; next < minute; ++next) yaml += "_ ";
      yaml += value + " ";
      ++next;
    }
    yaml += next <= minutes_ ? "stale'\n" : "'\n";
  }
  return yaml;
}

std::string AgentStory::Text() const {
  std::string text;
  for (const auto& [series, values] : values_) {
    for (const auto& [minute, value] : values)
      text += series + " " + value + " " + std::to_string((born_ + minute * 60) * 1000) + "\n";
  }
  return text;
}

void AgentStory::Count(const Doing& doing) {
  GpuSecond second;
  second.phase_ms[kUnobservedPhase] = second.reason_ms[0] = doing.unobserved_ms;
  second.phase_ms[2] = doing.work_ms;
  const std::int64_t rest = kMsPerSecond - doing.unobserved_ms - doing.work_ms;
  second.phase_ms[doing.phase] += rest;
  if (doing.phase == 0) second.idle_ms[static_cast<std::size_t>(doing.memory)] = rest;
  if (doing.unobserved_ms < kMsPerSecond) second.decile = doing.decile;
  second.spin_ms = doing.spin_ms;
  second.link_bytes = {doing.pcie, doing.pcie / 2, doing.nvlink};
  counters_.Add({&second, 1});
  host_.rise[Index(HostSignal::kPsiIoSome)] = (counters_.next() - born_) * kNanosPerSecond / 4;
  host_.rise[Index(HostSignal::kPsiCpuSome)] = (counters_.next() - born_) * kNanosPerSecond / 10;
  host_.rise[Index(HostSignal::kReadBytes)] = (counters_.next() - born_) * kGiB / 2;
  // Of each of two ports.
  for (const char* port : {"mlx5_0/1", "mlx5_1/1"})
    host_.ports[port] = {{(counters_.next() - born_) * kGiB * 3 / 2, 0}, {true, false}};
}

void AgentStory::Scrape(const Doing& doing) {
  const Instant now = Instant::FromNanos(counters_.next() * kNanosPerSecond);
  NodeView view{counters_, {}, host_, {}, now, Instant::FromNanos(born_ * kNanosPerSecond)};
  GpuGauges gauges;
  gauges.utilization = static_cast<std::int64_t>(doing.decile) * 10'000'000;
  gauges.memory_total = 80 * kGiB;
  gauges.memory_used = 80 * kGiB * doing.used_percent / 100;
  if (doing.sm_percent) gauges.sm_active = *doing.sm_percent * kPercent;
  if (doing.pcie_link > 0) gauges.pcie_link = doing.pcie_link;
  if (doing.nvlink_link > 0) gauges.nvlink_link = doing.nvlink_link;
  gauges.price = Money::Cents(doing.dollars * 100);
  gauges.currency = "USD";
  gauges.price_source = "--price";
  view.gauges.push_back(gauges);
  view.health.up["nvml"] = true;
  view.health.newest_sample = now;
  for (const MetricFamily& family : AgentFamilies(view, node_, "test")) {
    for (const MetricSample& sample : family.samples) {
      const std::string name = family.name + (family.type == MetricType::kCounter ? "_total" : "") +
                               (family.type == MetricType::kInfo ? "_info" : "");
      // With honor_labels, a job keeps its label. All other series get the name of the scrape job.
      std::string labels = sample.labels + ",instance=\"" + node_ + ":9835\"";
      if (labels.find(",job=") == std::string::npos) labels += ",job=\"idleburn-live\"";
      values_[name + "{" + labels + "}"].emplace_back(minutes_, Decimal(sample.value));
    }
  }
}

}  // namespace idleburn::testing
