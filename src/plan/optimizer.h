#pragma once

#include <string_view>

#include "base/result.h"

namespace idleburn {

// Bytes of an optimizer's states per trained parameter, as the programs that use it keep them.
struct OptimizerFacts {
  std::string_view name;
  double wide_bytes = 8;  // states in fp32
  double half_bytes = 4;  // states in the precision of pure 16-bit weights
};

// By the names that training programs use ("adamw_torch", "paged_adamw_8bit"); an error that suggests the nearest.
Result<OptimizerFacts> OptimizerNamed(std::string_view name);

}  // namespace idleburn
