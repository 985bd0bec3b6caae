#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/doctor_readings.h"

namespace idleburn {

// In order of how bad it is.
enum class CheckStatus : std::uint8_t { kSkipped, kOk, kWarning, kFailure };
std::string_view Name(CheckStatus status);  // "ok"

struct CheckVerdict {
  CheckStatus status = CheckStatus::kSkipped;
  std::string evidence;  // what was read, and of which counter or file
  std::string fix;       // what to do; empty if there is nothing
};

// One thing that can be right or wrong with measuring here. `id` is for programs and does not change.
struct CheckInfo {
  std::string_view id;
  std::string_view what;
  bool quantity;  // something that can be measured or cannot: what the first line counts
  CheckVerdict (*judge)(const DoctorReadings& readings, const CheckInfo& check);
  std::string_view fix = {};             // where that is always the same
  Signal signal = Signal::kUtilization;  // of a quantity of the GPU
};

// All checks, in the order of the report.
std::span<const CheckInfo> DoctorChecks();

struct CheckResult {
  const CheckInfo* check = nullptr;
  CheckVerdict verdict;
};
std::vector<CheckResult> JudgeAll(const DoctorReadings& readings);
// The worst of all: kOk if nothing is wrong.
CheckStatus WorstOf(std::span<const CheckResult> results);

// Rows of the table; in doctor_gpu.cc, doctor_host.cc and doctor_data.cc.
CheckVerdict JudgeLibrary(const DoctorReadings& readings, const CheckInfo& check);
CheckVerdict JudgeVersion(const DoctorReadings& readings, const CheckInfo& check);
CheckVerdict JudgeCount(const DoctorReadings& readings, const CheckInfo& check);
CheckVerdict JudgeSignal(const DoctorReadings& readings, const CheckInfo& check);
CheckVerdict JudgeRing(const DoctorReadings& readings, const CheckInfo& check);
CheckVerdict JudgeWindow(const DoctorReadings& readings, const CheckInfo& check);
CheckVerdict JudgeReasons(const DoctorReadings& readings, const CheckInfo& check);
CheckVerdict JudgeMig(const DoctorReadings& readings, const CheckInfo& check);
CheckVerdict JudgeErrors(const DoctorReadings& readings, const CheckInfo& check);
CheckVerdict JudgeAmd(const DoctorReadings& readings, const CheckInfo& check);
CheckVerdict JudgeSampler(const DoctorReadings& readings, const CheckInfo& check);

CheckVerdict JudgePidNamespace(const DoctorReadings& readings, const CheckInfo& check);
CheckVerdict JudgePressure(const DoctorReadings& readings, const CheckInfo& check);
CheckVerdict JudgeSchedstat(const DoctorReadings& readings, const CheckInfo& check);
CheckVerdict JudgeProcIo(const DoctorReadings& readings, const CheckInfo& check);
CheckVerdict JudgeCgroup(const DoctorReadings& readings, const CheckInfo& check);
CheckVerdict JudgeClock(const DoctorReadings& readings, const CheckInfo& check);
CheckVerdict JudgeFolder(const DoctorReadings& readings, const CheckInfo& check);
CheckVerdict JudgePriceList(const DoctorReadings& readings, const CheckInfo& check);
CheckVerdict JudgeInstance(const DoctorReadings& readings, const CheckInfo& check);
CheckVerdict JudgePrice(const DoctorReadings& readings, const CheckInfo& check);
CheckVerdict JudgeDuckDb(const DoctorReadings& readings, const CheckInfo& check);

CheckVerdict JudgeDataFiles(const DoctorReadings& readings, const CheckInfo& check);
CheckVerdict JudgeDataSpeed(const DoctorReadings& readings, const CheckInfo& check);
CheckVerdict JudgeDataRun(const DoctorReadings& readings, const CheckInfo& check);

}  // namespace idleburn
