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
  std::string_view needs;    // the figures by which it is told from others, apart by blanks
  std::string_view price;    // the second figure of the formula, where it is the price of the rest; else empty
  std::string_view formula;  // "gpu_hours * price * runs?": ? is 1 where it is not given, months and years the horizon
  bool recurring;            // unless the line says so itself
};
std::span<const LineRecipe> LineRecipes();

// One word of a formula.
struct RecipeFigure {
  std::string_view name;
  bool divides = false;
  bool optional = false;
  bool minus = false;   // of a term that is taken away; left out where its first figure is not given
  bool starts = false;  // a new term
};
std::vector<RecipeFigure> FiguresOf(const LineRecipe& recipe);

// Figures that are shares of a whole: 35% or 0.35, never 35.
bool IsShare(std::string_view figure);

}  // namespace idleburn
