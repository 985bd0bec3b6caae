#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tco/plan.h"

namespace idleburn {

// How an amount is made of the figures of a line in a scenario file.
struct LineRecipe {
  CostCategory category;
  std::string_view needs;  // the figures by which it is told from others, apart by blanks
  std::string_view price;  // the second figure of the formula, where it is the price of the rest; else empty
  // "gpu_hours * price * runs?": ? is 1 where it is not given, ?24 is 24, months and years the horizon. Terms after the
  // first are left out where their first figure is not given; at_least begins one that those before it may not fall
  // below.
  std::string_view formula;
  bool recurring;  // unless the line says so itself
};
std::span<const LineRecipe> LineRecipes();

// One word of a formula.
struct RecipeFigure {
  std::string_view name;
  bool divides = false;
  bool optional = false;
  std::string_view usual;  // what an optional one is where it is not given; empty: 1
  bool minus = false;      // of a term that is taken away
  bool at_least = false;   // of a term that is a floor
  bool starts = false;     // a new term
  bool rounds_up = false;  // the product up to it is rounded up
};
std::vector<RecipeFigure> FiguresOf(const LineRecipe& recipe);

// Figures that are shares of a whole: 35% or 0.35, never 35.
bool IsShare(std::string_view figure);

}  // namespace idleburn
