#pragma once

#include <string>
#include <vector>

#include "text/table.h"

namespace idleburn {

// One table of a report.
struct ReportTable {
  std::string title;
  std::vector<TableColumn> columns;
  std::vector<TableRow> rows;
  std::vector<std::string> notes;
};

}  // namespace idleburn
