// Which reading comes first decides under which number a device is kept, and must decide nothing else.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>

#include "price/cost_report.h"
#include "recommend/advice.h"
#include "support/advice_on.h"
#include "support/property.h"

namespace idleburn {
namespace {

// What one GPU or MIG instance did, wherever it comes in the log.
struct Spell {
  std::int64_t seconds = 0;
  int percent = 0;
  bool held = true;
};
struct Gpu {
  std::string host;
  int index = 0;
  std::string instance;  // empty: a whole GPU
  std::string counter;
  std::vector<Spell> spells;
  std::optional<int> sm_active;  // percent
  Money price;
};

DeviceResult ResultOf(const Gpu& gpu, DeviceId id) {
  DeviceResult d;
  d.device = id;
  d.counter = Signal::kUtilization;
  std::int64_t second = 1'000'000;
  d.first = Instant::FromNanos(second * kNanosPerSecond);
  for (const Spell& spell : gpu.spells) {
    const std::size_t phase = spell.percent < 10 ? 0 : spell.percent < 70 ? 1 : spell.percent < 90 ? 2 : 3;
    for (std::int64_t i = 0; i < spell.seconds; ++i) {
      Timeline::Bucket& bucket = d.totals.timeline.At(second++);
      for (auto* phases : {&d.totals.phase_ns, &bucket.phase_ns}) (*phases)[phase] += kNanosPerSecond;
      for (Integral* sum : {&d.totals.utilization, &bucket.utilization}) {
        sum->Add(kNanosPerSecond, spell.percent * kPercent);
      }
      if (phase == 0) (spell.held ? d.totals.idle_held_ns : d.totals.idle_empty_ns) += kNanosPerSecond;
      if (phase == 0 && spell.held) bucket.held_ns += kNanosPerSecond;
      if (!gpu.sm_active) continue;
      for (Integral* sum : {&d.totals.sm_active, &bucket.sm_active}) {
        sum->Add(kNanosPerSecond, *gpu.sm_active * kPercent);
      }
    }
  }
  d.last = Instant::FromNanos(second * kNanosPerSecond);
  return d;
}

// Everything that an audit of these GPUs, read in this order, concludes, as text.
std::string Concluded(const std::vector<Gpu>& gpus) {
  DeviceTable devices;
  RunResult run;
  RateCard card;
  for (const Gpu& gpu : gpus) {
    DeviceKey key;
    key.host = gpu.host;
    key.index = gpu.index;
    key.name = "NVIDIA H100 80GB HBM3";
    if (!gpu.instance.empty()) key.mig = MigInstance{gpu.instance, "2g.20gb", 2};
    const DeviceId id = devices.Enter(key);
    devices.NameCounter(id, Signal::kUtilization, gpu.counter);
    devices.NameCounter(id, Signal::kMemoryUsed, gpu.counter + ".memory");
    if (gpu.sm_active) devices.NameCounter(id, Signal::kSmActive, gpu.counter + ".sm");
    Rate rate;
    rate.kind = RateKind::kGiven;
    rate.per_gpu_hour = gpu.price;
    card.Give(devices[id].board.value_or(id), rate);
    card.Give(id, rate);
    run.devices.push_back(ResultOf(gpu, id));
  }
  std::sort(run.devices.begin(), run.devices.end(),
            [](const DeviceResult& a, const DeviceResult& b) { return a.device < b.device; });
  run.start = run.devices.front().first;
  const CostReport cost = PriceRun(run, devices, OwnerLedger(), card, WorkDone(), EnergyPrice(), 720).value();
  const Advice advice = testing::AdviceOn({run, devices, cost}, {});
  std::string text;
  const auto add = [&](const auto& value) {
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>) {
      text += std::to_string(value) + "\n";
    } else {
      text += std::string(value) + "\n";
    }
  };
  for (const Finding& f : advice.findings) {
    add(f.cause);
    add(f.title);
    add(static_cast<int>(f.status));
    add(f.share);
    add(f.gpu_ns);
    add(f.bound);
    add(f.cost.value_or(Money()).nano());
    for (const std::string& sentence : f.evidence) add(sentence);
    for (const std::string& sentence : f.refutes) add(sentence);
  }
  for (const Recommendation& r : advice.recommendations) {
    add(r.id);
    add(r.basis);
    add(r.saving ? r.saving->expected : -1);
    add(r.saving_cost.value_or(Money()).nano());
  }
  for (const Advice::Declined& d : advice.declined) add(std::string(d.id) + ": " + d.why);
  add(advice.savings.total_fraction);
  add(advice.savings.cost.value_or(Money()).nano());
  return text;
}

std::vector<Gpu> AnyGpus() {
  const std::vector<std::string> hosts = {"n1", "n2", "n10"};
  std::vector<Gpu> gpus;
  const int boards = *rc::gen::inRange(1, 6);
  for (int b = 0; b < boards; ++b) {
    Gpu gpu;
    gpu.host = hosts[static_cast<std::size_t>(b) % hosts.size()];
    gpu.index = b / static_cast<int>(hosts.size());
    gpu.price = Money::Cents(*rc::gen::element<std::int64_t>(200, 400));
    const int parts = *rc::gen::inRange(1, 4);
    for (int part = 0; part < parts; ++part) {
      gpu.instance = parts == 1 ? "" : std::to_string(part + 7);
      gpu.counter = *rc::gen::element<std::string>("nvml.utilization.gpu", "dcgm.GPU_UTIL");
      if (*rc::gen::arbitrary<bool>()) gpu.sm_active = *rc::gen::element(5, 40, 85, 90);
      gpu.spells.clear();
      for (int spell = 0; spell < 3; ++spell) {
        gpu.spells.push_back({*rc::gen::element<std::int64_t>(30, 100, 200), *rc::gen::element(0, 40, 75, 95),
                              *rc::gen::arbitrary<bool>()});
      }
      gpus.push_back(gpu);
    }
  }
  return gpus;
}

TEST(ReadingOrderTest, ShowsInNoFindingAndNoAdvice) {
  test::ExpectProperty([] {
    const std::vector<Gpu> gpus = AnyGpus();
    const std::string concluded = Concluded(gpus);
    std::vector<Gpu> other = gpus;
    for (std::size_t i = other.size(); i > 1; --i) std::swap(other[i - 1], other[*rc::gen::inRange<std::size_t>(0, i)]);
    RC_ASSERT(Concluded(other) == concluded);
  });
}

// Twelve nodes as they are listed by name: node1, node10, node11, ... Each GPU idles for half an hour of one.
TEST(ReadingOrderTest, NoGpuIsLeftOutOfAFinding) {
  for (const bool descending : {false, true}) {
    std::vector<Gpu> gpus;
    for (int node = 1; node <= 12; ++node) {
      gpus.push_back(
          {"node" + std::to_string(node), 1, "", "nvml.utilization.gpu", {{1800, 0, true}, {1800, 95}}, {}, {}});
    }
    if (descending) std::reverse(gpus.begin(), gpus.end());
    const std::string concluded = Concluded(gpus);
    const std::string six_hours = std::to_string(12 * 1800 * kNanosPerSecond);
    EXPECT_NE(concluded.find("idle_held"), std::string::npos) << concluded;
    EXPECT_NE(concluded.find(six_hours), std::string::npos) << concluded;
    EXPECT_NE(concluded.find("node1 GPU 1, node10 GPU 1, node11 GPU 1, node12 GPU 1 and 8 more"), std::string::npos)
        << concluded;
  }
}

}  // namespace
}  // namespace idleburn
