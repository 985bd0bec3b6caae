#include "tco/levers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/money.h"
#include "tco/figures.h"
#include "tco/plan_cost.h"
#include "text/command_line.h"
#include "text/figures.h"

namespace idleburn {

// Kinds of levers, and how edits become another plan. Claims are collected by line first and combined last: two fixes
// that each save 30 % of the same waste do not save 60 %.

namespace {

// A kind's id, its title, and the first step to take for it.
constexpr auto kKinds = std::to_array<LeverKind>({
    {"lora", "LoRA instead of full fine-tuning",
     "train adapters on frozen weights; compare the task's score before and after"},
    {"fewer_runs", "fewer runs", "stop runs that cannot win any more, and keep seeds to repeat no run"},
    {"active_learning", "active learning",
     "label the samples that the model is least sure of first; stop when the score no longer rises"},
    {"ci_gates", "CI gates", "let a short run on little data pass before a long one starts; fail CI if cost rises"},
    {"spot", "spot with checkpoints",
     "take the checkpoint interval of idleburn plan, and prove a resume with idleburn drill first"},
    {"reserved", "a commitment", "commit only to GPUs that are busy in every hour"},
    {"less_waste", "less waste", "run idleburn audit, then do what it recommends; prove it with idleburn compare"},
    {"distillation", "distillation", "train a small model on the large one's answers, and serve that"},
    {"quantised_serving", "quantised serving", "serve at 8 or 4 bits; compare its answers with the full model's"},
    {"autoscaling", "autoscaling", "let replicas follow the load, with a floor for cold starts"},
    {"retire_models", "retired models", "switch off models that earn less than their replicas cost"},
    {"smaller_gpu", "a smaller GPU", "take the cheapest GPU of idleburn plan that fits with its margin"},
});

}  // namespace

std::span<const LeverKind> LeverKinds() { return kKinds; }

const LeverKind* FindLeverKind(std::string_view id) {
  const auto* found = std::find_if(kKinds.begin(), kKinds.end(), [&](const LeverKind& k) { return k.id == id; });
  return found == kKinds.end() ? nullptr : found;
}

namespace {

// Whether claims on GPU time and price make sense for the line.
bool IsGpuWork(const PlanLine& line) {
  return line.category == CostCategory::kCompute || line.category == CostCategory::kInference;
}

// The lines with that key, or of that category.
std::vector<std::size_t> LinesNamed(const TcoPlan& plan, const std::string& name) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < plan.lines.size(); ++i) {
    if (plan.lines[i].Key() == name || Name(plan.lines[i].category) == name) found.push_back(i);
  }
  return found;
}

// Multiplies every term of the line by one more figure.
void Multiply(TcoPlan& plan, std::size_t line, PlanFigure by) {
  plan.figures.push_back(std::move(by));
  // Every term, because a factor on a line is on the whole of it.
  for (PlanTerm& term : plan.lines[line].terms) term.factors.push_back({plan.figures.size() - 1, false});
}

// The claims of an edit in words; empty where it has none.
std::string Claims(const LeverEdit& edit) {
  std::string text;
  const auto add = [&](const std::optional<double>& share, const char* what) {
    if (share) text += (text.empty() ? "" : ", ") + fmt::format("{:g} % {}", 100 * *share, what);
  };
  add(edit.time, "less GPU time");
  add(edit.rate_cut, "off the price");
  add(edit.overhead, "more time for it");
  add(edit.avoided, "of the runs not made");
  if (edit.cheaper) {
    text += (text.empty() ? "" : ", ") +
            fmt::format("{:g} % of busy time {:g} times faster", 100 * edit.cheaper->share, edit.cheaper->speedup);
  }
  return text;
}

// Adds the claims of one edit to those on its line.
void AddClaims(const LeverEdit& edit, CombineInput& claims) {
  if (edit.time) claims.fixes.push_back({edit.name, *edit.time});
  if (edit.cheaper) claims.cheaper.push_back(*edit.cheaper);
  // Two cuts of one price follow one another, and so do two shares of runs.
  if (edit.rate_cut) claims.rate_cut = 1 - (1 - claims.rate_cut) * (1 - *edit.rate_cut);
  if (edit.avoided) claims.avoided = 1 - (1 - claims.avoided) * (1 - *edit.avoided);
  if (edit.overhead) claims.overhead = (1 + claims.overhead) * (1 + *edit.overhead) - 1;
}

// Applies an edit to one line at once, or keeps its claims for later.
Result<void> Apply(TcoPlan& plan, std::size_t line, const LeverEdit& edit,
                   std::map<std::size_t, CombineInput>& claims) {
  PlanLine& target = plan.lines[line];
  std::string how = Claims(edit);
  std::optional<Money> to;
  // Claims wait until all of them on the line are known.
  if (!how.empty()) {
    if (!IsGpuWork(target)) {
      return FailUsage("lever '" + edit.name + "': " + target.Key() + " is not GPU work; give factor or to instead");
    }
    AddClaims(edit, claims[line]);
  } else if (edit.factor) {
    Multiply(plan, line, *edit.factor);
    how = "x " + DecimalText(edit.factor->likely);
  } else if (edit.to) {
    // The line becomes one plain figure; nothing of its old formula holds any more.
    plan.figures.push_back(*edit.to);
    target.terms = {{false, false, {{plan.figures.size() - 1}}}};
    target.of_compute = false;
    target.probability.reset();
    target.price.reset();
    target.figures.clear();
    target.grid_kg_per_kwh.reset();
    target.embodied_kg_per_gpu_hour.reset();
    to = edit.to->likely.AsMoney().value_or(Money());
    how = "to " + Grouped(FormatMoney(*to, MinorUnitDigits(plan.currency)));
  } else {
    return FailUsage("lever '" + edit.name + "' has no effect; give to, factor, time, rate, avoided or cheaper");
  }
  plan.levers.push_back({edit.name, target.Key(), how, edit.evidence, edit.todo, to});
  return {};
}

}  // namespace

Result<TcoPlan> WithLevers(TcoPlan plan, const std::vector<LeverEdit>& edits, std::optional<double> waste) {
  std::map<std::size_t, CombineInput> claims;
  for (const LeverEdit& edit : edits) {
    const std::vector<std::size_t> lines = LinesNamed(plan, edit.line);
    if (lines.empty()) {
      std::vector<std::string> known;
      for (const PlanLine& line : plan.lines) known.push_back(line.Key());
      return FailUsage("lever '" + edit.name + "': there is no line '" + edit.line + "'; " +
                       SuggestionFor(edit.line, known));
    }
    // A category has several lines, and an amount is meant for their sum.
    if (edit.to && lines.size() > 1) {
      return FailUsage("lever '" + edit.name + "': to would set each of the " + std::to_string(lines.size()) +
                       " lines of " + edit.line + " to that amount; name one line, such as " +
                       plan.lines[lines.front()].Key());
    }
    for (const std::size_t line : lines) TRY(Apply(plan, line, edit, claims));
  }
  for (auto& [line, input] : claims) {
    // Fixes on time can only save time that is wasted.
    input.waste = waste;
    const CombineResult combined = Combine(input);
    // What is left of one unit of money, in billionths.
    const Money left = TRY(Estimate(Money::Nano(1'000'000'000), 1 - combined.total));
    const Fraction factor = Fraction::Of(left);
    Multiply(plan, line, {plan.lines[line].Key() + ".levers", factor, factor, factor});
    // A lower price leaves the energy as it was.
    const Money hours =
        TRY(Estimate(Money::Nano(1'000'000'000), (1 - input.avoided) * (1 - combined.time) * (1 + input.overhead)));
    if (left.nano() > 0) plan.lines[line].hours_per_amount = Fraction::Of(hours) / factor;
    // Which of quantity and price they change is not told.
    plan.lines[line].price.reset();
    if (!input.fixes.empty() && !waste) {
      plan.warnings.push_back(plan.lines[line].Key() +
                              ": no waste is given, so the savings of fixes on time have no cap; give waste");
    }
  }
  return plan;
}

Result<std::vector<LeverSaving>> SavingsOf(const TcoPlan& plan,
                                           const std::vector<std::pair<std::string, TcoPlan>>& edited) {
  // Differences of exact totals: a saving contains what it changes in contingency.
  const PlanCost whole = TRY(CostOfPlan(plan));
  std::vector<LeverSaving> savings;
  for (const auto& [name, other] : edited) {
    const PlanCost cost = TRY(CostOfPlan(other));
    savings.push_back({name, Money::Nano(whole.total.nano() - cost.total.nano()), other.levers});
  }
  // Equal savings keep the order of the file.
  std::stable_sort(savings.begin(), savings.end(),
                   [](const LeverSaving& a, const LeverSaving& b) { return a.saves > b.saves; });
  return savings;
}

}  // namespace idleburn
