#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "standin/board.h"

namespace idleburn::standin {

// A function made to fail, wait or hang. See README.md.
struct Fault {
  std::string function;
  int gpu = -1;  // as numbered in the script; -1: any
  int code = 0;  // returned instead of doing anything
  std::int64_t from = 0;
  std::int64_t until = INT64_MAX;
  std::int64_t times = INT64_MAX;  // calls it may still hit
  std::int64_t delay_ns = 0;
  bool hang = false;  // does not return before `until`
  std::string crash;  // how it ends the program; empty: it does not
};

struct Xid {
  int gpu = 0;
  std::uint64_t code = 0;
  std::int64_t at = 0;
  bool told = false;
};

struct Reorder {
  std::int64_t at = 0;
  std::vector<int> order;  // order[index] = GPU as numbered in the script; from the next initialisation on
};

struct ScriptGpu {
  BoardFacts facts;
  std::vector<BoardFacts> instances;  // MIG
};

struct Script {
  bool manual_clock = false;
  std::string driver = "580.95.05";
  std::string nvml = "13.580.95.05";
  std::vector<ScriptGpu> gpus;
  std::vector<Fault> faults;
  std::vector<Xid> xids;
  std::vector<Reorder> orders;
  std::vector<std::int64_t> reloads;
  bool growing_lists = false;  // nine processes start before each call that reads a list
  std::uint32_t started_processes = 0;
  bool narrow_pcie = false;           // PCIe counters of 32 bits, which wrap
  bool long_process_records = false;  // of 32 bytes, as drivers 535.43 to 535.86 write them
  // The timeline of "gpu 0", or of "gpu 0/1" (instance 1 of GPU 0).
  std::map<std::string, std::vector<std::string>> timeline;
  std::string error;  // empty: the script is right
};

Script ReadScript(std::string_view text);

// "1.5s", "20ms", "166667us", "5" (seconds) in ns; -1 if it is none.
std::int64_t ReadTime(const std::string& text);
// What the timeline of one board says: lines "TIME key=value...".
std::unique_ptr<Activity> ScriptedActivity(const BoardFacts& facts, const std::vector<std::string>& lines);

}  // namespace idleburn::standin
