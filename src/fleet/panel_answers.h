#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fleet/dashboard_panels.h"
#include "fleet/engine.h"

namespace idleburn {

// One series of a panel.
struct PanelLine {
  std::string name;  // the legend with its labels: "cpu, some"
  double mean = 0;
  double peak = 0;
  double last = 0;
  std::vector<std::pair<std::int64_t, double>> points;  // Unix seconds; one point without a time line
};

// What a panel of the dashboards shows over a window.
struct PanelAnswer {
  const PanelRow* row = nullptr;
  std::string_view section;
  std::vector<PanelLine> lines;  // the largest means first
  std::size_t more = 0;          // further lines, which are left out
};

struct PanelAnswers {
  std::vector<PanelAnswer> panels;
  std::size_t unanswered = 0;
};

// Asks the engine for the panels that a page needs beside the ledger's answer: GPU hardware, hosts, and the health of
// the agents. Panels without data are left out. An engine that ran out of time is not asked for the rest.
PanelAnswers AskPanels(Engine& engine, std::int64_t from, std::int64_t to);

// A query with the dashboards' variables replaced: every node, this window, and this span for rates.
std::string WithoutVariables(std::string query, std::int64_t range_s, std::int64_t rate_s);

}  // namespace idleburn
