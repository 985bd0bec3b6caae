#pragma once

#include <span>
#include <string_view>

#include "diagnose/cause_table.h"
#include "recommend/advice.h"

namespace idleburn {

// Something that can be changed to save GPU time or its price.
struct Lever {
  std::string_view id;
  std::string_view title;
  Axis axis;
  Pool pool;
  std::string_view evidence;  // what must have been seen before it is advised: see IsShown
  std::string_view refuted;   // what speaks against it
  std::string_view how;       // the flag or line of code
  std::string_view verify;    // how to see that it worked
};

std::span<const Lever> Levers();
// The row of an id, which must exist.
const Lever& LeverOf(std::string_view id);

}  // namespace idleburn
