#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/doctor_readings.h"

namespace idleburn {

// What `idleburn doctor` judges: a table of checks. Each reads DoctorReadings and says what it found. A check
// only judges. All measuring is done before (TakeDoctorReadings), so that tests can plant any machine.
//
// Every verdict names its evidence, so that a user can look for himself. A verdict that something is wrong names a fix.

// How bad a verdict is, in rising order.
enum class CheckStatus : std::uint8_t { kSkipped, kOk, kWarning, kFailure };
// The name in documents: "ok".
std::string_view Name(CheckStatus status);  // "ok"

// What a check came to.
struct CheckVerdict {
  CheckStatus status = CheckStatus::kSkipped;
  // What was read, and from which counter or file. Never empty.
  std::string evidence;
  // What to do; empty if there is nothing.
  std::string fix;
};

// A row of the table: one thing that can be right or wrong with measuring here. `id` is for programs and does not
// change.
struct CheckInfo {
  std::string_view id;
  std::string_view what;
  // Something that can be measured or cannot. The first line of the report counts these.
  bool quantity;
  // Judges the readings. `check` is the row itself, so that one function can serve several rows.
  CheckVerdict (*judge)(const DoctorReadings& readings, const CheckInfo& check);
  // What to do, where that is always the same.
  std::string_view fix = {};
  // Of a quantity of the GPU: which one.
  Signal signal = Signal::kUtilization;
};

// All checks, in the order of the report. They live as long as the program.
std::span<const CheckInfo> DoctorChecks();

// A check and its verdict.
struct CheckResult {
  const CheckInfo* check = nullptr;
  CheckVerdict verdict;
};
// Judges by all checks, in the order of the report.
std::vector<CheckResult> JudgeAll(const DoctorReadings& readings);
// The worst of all; kOk if nothing is wrong or nothing was checked.
CheckStatus WorstOf(std::span<const CheckResult> results);

// The rows of GPUs and their drivers. They have a file of their own, doctor_gpu.cc, because they share what is known of
// drivers.

// The library of the driver was found and has the functions that are needed.
CheckVerdict JudgeLibrary(const DoctorReadings& readings, const CheckInfo& check);
// The driver answers, or why it does not.
CheckVerdict JudgeVersion(const DoctorReadings& readings, const CheckInfo& check);
// There is a GPU, and none was lost while it was read.
CheckVerdict JudgeCount(const DoctorReadings& readings, const CheckInfo& check);
// Every GPU gave a value of the signal of `check`.
CheckVerdict JudgeSignal(const DoctorReadings& readings, const CheckInfo& check);
// The driver keeps stamped utilizations; else the gauge is polled, which misses short bursts.
CheckVerdict JudgeRing(const DoctorReadings& readings, const CheckInfo& check);
// How often the driver renews utilization, where enough was read to tell.
CheckVerdict JudgeWindow(const DoctorReadings& readings, const CheckInfo& check);
// As JudgeSignal for event reasons, and by which fields slowdowns are counted.
CheckVerdict JudgeReasons(const DoctorReadings& readings, const CheckInfo& check);
// Which boards are split into instances.
CheckVerdict JudgeMig(const DoctorReadings& readings, const CheckInfo& check);
// No memory error was counted and no Xid event came.
CheckVerdict JudgeErrors(const DoctorReadings& readings, const CheckInfo& check);
// Which GPUs are read through the kernel, as those of AMD are.
CheckVerdict JudgeAmd(const DoctorReadings& readings, const CheckInfo& check);
// The sampler kept its pace: at most one tick in twenty was missed.
CheckVerdict JudgeSampler(const DoctorReadings& readings, const CheckInfo& check);

// The rows of --agent (doctor_agent.cc). Each is skipped unless it was asked for.

// Every source of owners answers, and one of them is a scheduler.
CheckVerdict JudgeAgentOwners(const DoctorReadings& readings, const CheckInfo& check);
// The environment of other users' processes can be read.
CheckVerdict JudgeAgentProcesses(const DoctorReadings& readings, const CheckInfo& check);
// The counts can be kept over restarts.
CheckVerdict JudgeAgentState(const DoctorReadings& readings, const CheckInfo& check);
// The agent's usual address is free.
CheckVerdict JudgeAgentAddress(const DoctorReadings& readings, const CheckInfo& check);

}  // namespace idleburn
