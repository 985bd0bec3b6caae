#include "support/sweep_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace idleburn::testing {
namespace {

constexpr std::int64_t kMs = kNanosPerSecond / 1000;

// Up to, not including, `end`.
int Below(std::mt19937_64& random, int end) {
  return std::uniform_int_distribution<int>(0, std::max(end - 1, 0))(random);
}

double Uniform(std::mt19937_64& random, double from, double to) {
  return std::uniform_real_distribution<double>(from, to)(random);
}

// Small numbers are as likely as large ones.
double LogUniform(std::mt19937_64& random, double from, double to) {
  return std::exp(Uniform(random, std::log(from), std::log(to)));
}

bool Happens(std::mt19937_64& random, double chance) { return Uniform(random, 0, 1) < chance; }

std::int64_t Whole(double number) { return static_cast<std::int64_t>(number); }

// What a row of one GPU says.
void Fill(const SweepLogPlan& plan, int gpu, std::int64_t now, std::mt19937_64& random, Sample& row) {
  const int kind = plan.alike ? 0 : gpu;
  const bool on = now / (plan.wave_ns / 2) % 2 == 0;
  const double busy = plan.load == 0 ? Uniform(random, 0, 100) : plan.load == 1 ? (on ? 100 : 0) : 97;
  row.Set(Signal::kUtilization, Whole(busy) * kPercent);
  if (plan.has_memory) row.Set(Signal::kMemoryUsed, (10 + 3 * kind) * (std::int64_t{1} << 30));
  if (!plan.has_power) return;
  row.Set(Signal::kPower, Whole(100'000 + 5'000 * kind + 4'000 * busy + Uniform(random, -2'000, 2'000)));
  const double warm = 10 * std::sin(static_cast<double>(now) / 60e9);
  row.Set(Signal::kTemperature, 45 + kind % 7 + Whole(warm));
}

}  // namespace

SweepLogPlan RandomSweepLogPlan(std::mt19937_64& random) {
  SweepLogPlan plan;
  plan.gpus = 1 + Below(random, 16);
  plan.sweeps = static_cast<int>(LogUniform(random, 3, 12'000.0 / plan.gpus));
  plan.period_ns = Whole(LogUniform(random, 20e6, 15e9));
  // Mostly a few milliseconds; at times so slow that the pause is only three times as long.
  const double room = std::min(static_cast<double>(plan.period_ns) / (plan.gpus + 2), 0.4e9);
  plan.query_ns =
      Whole(Happens(random, 0.8) ? std::min(LogUniform(random, 0.1e6, 20e6), room) : Uniform(random, 0, room));
  plan.fixed_schedule = Happens(random, 0.5);
  if (Happens(random, 0.6)) plan.late = Uniform(random, 0, 0.05);
  if (Happens(random, 0.6)) plan.missing = Happens(random, 0.5) ? Uniform(random, 0, 0.003) : Uniform(random, 0, 0.05);
  for (int n = Below(random, 3); n > 0; --n) {
    plan.restarts.push_back(2 + Below(random, plan.sweeps));
  }
  plan.hole_ns = Whole(LogUniform(random, 0.05e9, 20'000e9));
  if (Happens(random, 0.3)) {
    plan.lost_at = 2 + Below(random, plan.sweeps);
    plan.lost = Below(random, plan.gpus);
  }
  const double grain = Uniform(random, 0, 1);
  plan.grain_ns = grain < 0.75 ? kMs : grain < 0.85 ? kNanosPerSecond : grain < 0.95 ? 10 * kMs : 1000;
  plan.has_memory = Happens(random, 0.7);
  plan.has_power = Happens(random, 0.7);
  plan.alike = Happens(random, 0.3);
  plan.load = Below(random, 3);
  plan.wave_ns = Whole(LogUniform(random, 0.1e9, 600e9));
  return plan;
}

SweepLog MakeSweepLog(const SweepLogPlan& plan, std::mt19937_64& random) {
  SweepLog log;
  std::int64_t sweep_at = 1'780'000'000 * kNanosPerSecond + Whole(Uniform(random, 0, 1e9));
  std::int64_t now = sweep_at;
  for (int sweep = 0; sweep < plan.sweeps; ++sweep) {
    const bool restart = std::find(plan.restarts.begin(), plan.restarts.end(), sweep) != plan.restarts.end();
    if (restart && sweep > 0) {
      for (int cut = Below(random, plan.gpus); cut > 0 && log.rows.size() > 1; --cut) {
        log.rows.pop_back();
        log.gpu.pop_back();
      }
      sweep_at = now + plan.hole_ns;
    }
    now = std::max(now, sweep_at);
    for (int gpu = 0; gpu < plan.gpus; ++gpu) {
      if (gpu > 0) now += Whole(static_cast<double>(plan.query_ns) * Uniform(random, 0.85, 1.15));
      if (plan.lost_at > 0 && sweep >= plan.lost_at && gpu == plan.lost) continue;
      if (Happens(random, plan.late)) now += Whole(static_cast<double>(plan.period_ns) * Uniform(random, 0, 0.9));
      if (sweep > 0 && Happens(random, plan.missing)) continue;  // each GPU is seen
      Sample row;
      row.time = Instant::FromNanos(now / plan.grain_ns * plan.grain_ns);
      Fill(plan, gpu, now, random, row);
      log.rows.push_back(row);
      log.gpu.push_back(gpu);
    }
    sweep_at = (plan.fixed_schedule ? sweep_at : now) + plan.period_ns;
    now += Whole(static_cast<double>(plan.period_ns) * Uniform(random, 0, 0.001));
  }
  return log;
}

std::string Describe(const SweepLogPlan& p) {
  std::string text = fmt::format(
      "{} GPUs, {} sweeps each {} ms, {} ms a query, {} schedule, late {:.4f}, missing {:.4f}, hole {} ms, lost {} at "
      "{}, grain {} us, memory {}, power {}, alike {}, load {} of {} ms, restarts",
      p.gpus, p.sweeps, p.period_ns / kMs, static_cast<double>(p.query_ns) / 1e6, p.fixed_schedule ? "fixed" : "loose",
      p.late, p.missing, p.hole_ns / kMs, p.lost, p.lost_at, p.grain_ns / 1000, p.has_memory, p.has_power, p.alike,
      p.load, p.wave_ns / kMs);
  for (const int at : p.restarts) text += " " + std::to_string(at);
  return text;
}

}  // namespace idleburn::testing
