#include "text/case.h"

#include "text/number.h"

namespace idleburn {

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

bool StartsWithIgnoreCase(std::string_view text, std::string_view start) {
  return EqualsIgnoreCase(text.substr(0, start.size()), start);
}

}  // namespace idleburn
