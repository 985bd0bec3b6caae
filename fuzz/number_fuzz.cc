// Any text is a number or is not; where it is one, the C library agrees as far as a double can.
#include <cmath>
#include <cstdlib>
#include <string>

#include "base/money.h"
#include "base/result.h"
#include "text/number.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const int decimals : {0, 3, 9}) {
    const idleburn::ScaledNumber number = idleburn::ParseScaled(text, decimals);
    if (number.fault == idleburn::NumberFault::kNone) {
      const double wide = std::strtod(text.c_str(), nullptr) * std::pow(10.0, decimals);
      const double tolerance = 0.5 + 1e-9 + std::abs(wide) * 1e-14;
      CHECK(std::abs(static_cast<double>(number.value) - wide) <= tolerance);
    }
  }
  idleburn::ParseInteger(idleburn::Trim(text));
  idleburn::ParseMask(text);
  bool rounded = false;
  const auto money = idleburn::Money::ParseRounding(text, &rounded);
  if (money) CHECK(idleburn::Money::Parse(idleburn::FormatExact(*money)).value() == *money);
  return 0;
}
