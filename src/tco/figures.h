#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fraction.h"
#include "base/result.h"
#include "tco/plan_cost.h"

namespace idleburn {

// The figures of a scenario file: how a number is written, how an amount is made of them, and when one looks wrong. The
// formulas are a table of short texts and not code, because the same text is what an error shows to the user.

// Reads a number exactly: "2.50", "1000000000000", "35%". It is at least 0 and has at most 24 digits. The error says
// how to write it.
Result<Fraction> ParseDecimal(std::string_view text);
// Writes a number of at least 0, however large, rounded half to even to a billionth: "2.5", "1000000000000". Writes
// "more than can be kept" where a computation has left what fractions can hold.
std::string DecimalText(const Fraction& number);

// Asks about a figure that is far from what its unit allows: "250 is above 200 a GPU-hour; is it cents, ...?". Absent
// where the figure may well be meant, or where any number may. Figures of money are judged only in currencies near a
// dollar.
std::optional<std::string> DoubtOf(std::string_view key, const Fraction& value, std::string_view currency);

// One way to compute the amount of a line from its figures. A line uses the first recipe of its category for which it
// gives all `needs`.
struct LineRecipe {
  CostCategory category;
  // Figures by which the recipe is told from others, with blanks between them.
  std::string_view needs;
  // The second figure of the formula, where it is the price of the rest; else empty.
  std::string_view price;
  // "gpu_hours * price * runs?": ? is 1 where it is not given, ?24 is 24, months and years the horizon. Terms after the
  // first are left out where their first figure is not given; at_least begins one that those before it may not fall
  // below.
  std::string_view formula;
  // Whether it goes on after launch, unless the line says so itself.
  bool recurring;
};

// Every recipe, the ones that need more before the ones that need less.
std::span<const LineRecipe> LineRecipes();

// One figure in a formula, with what the signs around it mean.
struct RecipeFigure {
  std::string_view name;
  bool divides = false;
  bool optional = false;
  // What an optional figure is where it is not given; empty stands for 1.
  std::string_view usual;
  // Whether its term is taken away.
  bool minus = false;
  // Whether its term is a floor for those before it.
  bool at_least = false;
  // Whether it begins a new term.
  bool starts = false;
  // Whether the product up to it is rounded up.
  bool rounds_up = false;
};

// Takes a formula apart, in its order.
std::vector<RecipeFigure> FiguresOf(const LineRecipe& recipe);

// Whether the figure is a share of a whole: written 35% or 0.35, never 35.
bool IsShare(std::string_view figure);

}  // namespace idleburn
