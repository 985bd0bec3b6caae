#include "plan/count_unit.h"

#include <array>
#include <utility>

#include "text/number.h"

namespace idleburn {

double TakeCountUnit(std::string_view key, std::string_view& digits) {
  constexpr double kTokens = 1024;
  constexpr std::array<std::pair<std::string_view, double>, 4> kUnits = {
      {{"k", 1e3}, {"m", 1e6}, {"b", 1e9}, {"t", 1e12}}};
  for (const auto& [letter, scale] : kUnits) {
    if (digits.size() < 2 || !EqualsIgnoreCase(digits.substr(digits.size() - 1), letter)) continue;
    digits = Trim(digits.substr(0, digits.size() - 1));
    return key == "seq_len" && letter == "k" ? kTokens : scale;
  }
  return 1;
}

}  // namespace idleburn
