#pragma once

#include <string>
#include <vector>

#include "plan/calibration.h"

namespace idleburn {

// A measured run of a published table.
struct MeasuredRow {
  std::string table;
  RunRow row;
  std::string group;  // what is left out together: its model, or its method where the table has one model
};

// What is left out at a time when a prediction is judged.
enum class HoldOut : std::uint8_t { kTenth, kGroup, kFamily, kGpu, kFramework };

// One left-out row: what it measured and what the others predicted of it (bytes, or tokens a second and GPU).
struct HeldOutRow {
  const MeasuredRow* row = nullptr;
  double measured = 0;
  double predicted = 0;
};

// The rows of every table below `folder` that can be read; `skipped` names the others with their reasons.
struct PublishedRows {
  std::vector<MeasuredRow> rows;
  std::vector<MeasuredRow> strangers;  // the same, read as one does who has never heard of their frameworks
  std::vector<CalibrationTable> tables;
  std::vector<std::string> skipped;
};

// The tables that calibrate, in the order of the report.
std::span<const std::string_view> CalibrationFiles();
// Adds the rows of one table.
Result<void> AddTable(PublishedRows& published, std::string text, const std::string& file);

// The interval of measured / predicted that nine tenths of rows to come should lie in.
struct RatioBand {
  double low = 1;
  double high = 1;
};
// The band of a framework from rows left out of frameworks that are `known`; where its own are few, the errors of the
// others when they were left out as a whole (`unknown`) stand for the missing ones, each framework counting alike. Of
// one never seen it is IntervalOfUnseenGroup of these: 5 % lie beyond either end. Errors of one framework's models
// resemble each other, so of its own only about half as much is cut off.
RatioBand BandFor(const std::string& framework, const std::vector<HeldOutRow>& known,
                  const std::vector<HeldOutRow>& unknown);
// The same way, of a known framework on a GPU that it was not measured on, from rows left out with their GPU: what is
// drawn is a framework's GPU. Rows of `without`, as GpuGroupOf names it, are not looked at.
RatioBand BandOfUnseenGpu(const std::vector<HeldOutRow>& left_out, const std::string& without = {});
// "llm-foundry/H100-80GB-SXM".
std::string GpuGroupOf(const RunRow& row);
// The family of a model, by the letters that its name begins with: "llama" of Llama-3.1-8B.
std::string FamilyOf(const RunRow& row);
// A framework with as many left-out rows needs no others'.
inline constexpr double kOwnBandRows = 30;

// Every row that measured the quantity, predicted by a fit that never saw what it was left out with. A GPU is left out
// only where its framework was measured on another.
std::vector<HeldOutRow> PredictHeldOut(const std::vector<MeasuredRow>& rows, PlanQuantity quantity, HoldOut hold_out);

// Every row whose peak was measured, read by a stranger and predicted from the other frameworks: what a plan can know
// of a framework's defaults, which is nothing.
std::vector<HeldOutRow> PredictStrangers(const PublishedRows& published);

// The sets fitted to all rows, with the bands of what was left out.
Calibration Calibrate(const PublishedRows& published);

// data/plan/coefficients.csv: what ReadCalibration reads back.
std::string CalibrationCsv(const Calibration& calibration);

}  // namespace idleburn
