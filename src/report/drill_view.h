#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/drill_output.h"
#include "text/table.h"

namespace idleburn {

// One quantity of a drill: where it is kept, how it is called and shown.
struct DrillQuantity {
  std::string_view id;  // for programs
  std::string_view title;
  std::string_view unit;  // "s", "bytes", "steps", "samples"
  std::optional<DrillFigure> DrillFigures::*figure;
  std::string_view unknown;  // what to add where it is not known
};
std::span<const DrillQuantity> DrillQuantities();

// A drill in words: what all its formats have in common.
struct DrillView {
  std::string verdict;
  std::vector<std::string> why;
  std::vector<std::string> next;
  std::vector<std::string> spot;
  std::vector<TableColumn> figure_columns;
  std::vector<TableRow> figures;
  std::vector<TableColumn> round_columns;
  std::vector<TableRow> rounds;
  std::vector<std::string> notes;
};
DrillView ViewOf(const DrillReport& report);
// Absent where --uptime was not given.
std::optional<DrillOutlook> OutlookOf(const DrillReport& report);

}  // namespace idleburn
