#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "recommend/combine.h"
#include "tco/plan_cost.h"

namespace idleburn {

// What could be done to make a plan cheaper. A lever edits lines of a plan and gives another plan, which is then costed
// like any other; so a saving is always a difference of two totals, and never a percentage that someone claims of the
// whole.

// A lever that many plans have, and what is to be done for it. The ids are what a scenario file writes.
struct LeverKind {
  std::string_view id;
  std::string_view title;
  std::string_view todo;
};

// Every kind, in the order of suggestions.
std::span<const LeverKind> LeverKinds();
// The kind with that id; null where there is none.
const LeverKind* FindLeverKind(std::string_view id);

// An edit of one line of a plan, or of all lines of a category. It has one of `to`, `factor` and the claims on GPU
// work.
struct LeverEdit {
  std::string name;
  // A line by its key, "compute.fine-tuning", or a category, "compute".
  std::string line;
  // What the amount becomes, or what it is multiplied by.
  std::optional<PlanFigure> to;
  std::optional<PlanFigure> factor;
  // The share of GPU time that is saved.
  std::optional<double> time;
  // The share by which the price falls, and the time that the lower price costs.
  std::optional<double> rate_cut;
  std::optional<double> overhead;
  // The share of runs that are not made.
  std::optional<double> avoided;
  std::optional<CombineInput::Cheaper> cheaper;
  // "measured", "calibrated" or "assumed".
  std::string evidence;
  // What to do for it; empty if not given.
  std::string todo;
};

// The plan with those edits. Claims on the GPU work of one line are never added up: they combine by the rules of
// recommend/combine, and `waste` caps what fixes on time can save. Fails on an edit that names no line, says nothing,
// or does not suit its line.
Result<TcoPlan> WithLevers(TcoPlan plan, const std::vector<LeverEdit>& edits, std::optional<double> waste);

// What each of the plans saves of the total of `plan`, from which it differs by one edit; the largest first.
Result<std::vector<LeverSaving>> SavingsOf(const TcoPlan& plan,
                                           const std::vector<std::pair<std::string, TcoPlan>>& edited);

}  // namespace idleburn
