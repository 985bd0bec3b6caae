#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "telemetry/sample.h"

namespace idleburn::testing {

// How a log came about that nvidia-smi wrote for several GPUs without naming them.
struct SweepLogPlan {
  int gpus = 8;
  int sweeps = 400;
  std::int64_t period_ns = kNanosPerSecond;
  std::int64_t query_ns = 2'000'000;  // between the rows of a sweep
  bool fixed_schedule = true;         // a sweep begins each period; else a period after the end of the last
  double late = 0;                    // share of rows that hold up the rest of their sweep
  double missing = 0;                 // share of rows
  std::vector<int> restarts;          // before these sweeps, the one before them may be cut off
  std::int64_t hole_ns = 0;           // of a restart
  int lost_at = 0;                    // sweep from which on one GPU is missing; 0: never
  int lost = 0;                       // that GPU
  std::int64_t grain_ns = 1'000'000;  // of the stamps
  bool has_memory = true;
  bool has_power = true;
  bool alike = false;  // all GPUs have the same readings
  int load = 0;        // 0: random utilization; 1: square wave of `wave_ns`; 2: constant
  std::int64_t wave_ns = kNanosPerSecond;
};

// A plan of which nothing is known beforehand but what the property promises: 1 to 16 GPUs, 20 ms to 15 s, up to 5 %
// of rows late or missing, restarts, one GPU lost.
SweepLogPlan RandomSweepLogPlan(std::mt19937_64& random);

struct SweepLog {
  std::vector<Sample> rows;  // `device` is 0
  std::vector<int> gpu;      // of each row, in truth
};
SweepLog MakeSweepLog(const SweepLogPlan& plan, std::mt19937_64& random);

std::string Describe(const SweepLogPlan& plan);

}  // namespace idleburn::testing
