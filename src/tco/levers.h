#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "recommend/combine.h"
#include "tco/plan.h"

namespace idleburn {

// An edit of one line of a plan, or of all lines of a category. One of `to`, `factor` and the claims on GPU work.
struct LeverEdit {
  std::string name;
  std::string line;                  // "compute.fine-tuning", or "compute"
  std::optional<PlanFigure> to;      // the amount becomes this
  std::optional<PlanFigure> factor;  // the amount times this
  std::optional<double> time;        // share of GPU time saved
  std::optional<double> rate_cut;    // the price falls by this share
  std::optional<double> overhead;    // time that the lower price costs
  std::optional<double> avoided;     // share of the runs not made
  std::optional<CombineInput::Cheaper> cheaper;
  std::string evidence;  // measured, calibrated or assumed
  std::string todo;      // what is to be done for it; empty: nobody said
};

// The plan with those edits. Claims on GPU work of one line are never added up: they combine by the rules of
// recommend/combine, with `waste` as the cap of what fixes on time can save.
Result<TcoPlan> WithLevers(TcoPlan plan, const std::vector<LeverEdit>& edits, std::optional<double> waste);

// What each of the plans, which are `plan` with one edit, saves of its total; the largest first.
Result<std::vector<LeverSaving>> SavingsOf(const TcoPlan& plan,
                                           const std::vector<std::pair<std::string, TcoPlan>>& edited);

}  // namespace idleburn
