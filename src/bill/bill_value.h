#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

// Cells of a bill as values: decimal numbers, times and key-values. Reading is lenient where the meaning is certain
// ("+5" is five), and says that the text breaks FOCUS. It never guesses.
namespace idleburn {

// A decimal number as a count of billionths.
struct BillNumber {
  std::int64_t nano = 0;
  bool known = false;    // the text is a number
  bool well = false;     // as FOCUS writes numbers: no leading plus, no separators, no plus in an exponent
  bool rounded = false;  // it had more than nine decimals; rounded half to even
};
BillNumber ParseBillNumber(std::string_view text);

// A moment.
struct BillTime {
  Instant time;
  bool known = false;
  bool well = false;   // as FOCUS writes times: UTC, YYYY-MM-DDTHH:mm:ssZ
  bool zoned = false;  // it names its zone, or is well; another is read as UTC
};
BillTime ParseBillTime(std::string_view text);

// A flat JSON object, such as Tags. Values are text as JSON means it; null is an empty text.
struct KeyValues {
  std::vector<std::pair<std::string, std::string>> pairs;
  bool known = false;  // it is one JSON object
  bool flat = false;   // all values are text, number, true, false or null
  bool unique_keys = false;
  // The value of a key, or empty. Case of the key does not matter.
  [[nodiscard]] std::string_view Of(std::string_view key) const;
};
KeyValues ParseKeyValues(std::string_view text);

// Whether a text says that there is no value: "NULL", "N/A", "none".
bool MeansNull(std::string_view text);

}  // namespace idleburn
