#include "text/mentions.h"

#include <algorithm>

#include "text/number.h"

namespace idleburn {

bool Mentions(std::string_view text, std::string_view word) {
  const auto found = std::search(text.begin(), text.end(), word.begin(), word.end(), [](char a, char b) {
    return EqualsIgnoreCase(std::string_view(&a, 1), std::string_view(&b, 1));
  });
  return found != text.end();
}

}  // namespace idleburn
