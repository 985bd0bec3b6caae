#include "text/split.h"

#include "text/number.h"

namespace idleburn {

std::vector<std::string_view> Split(std::string_view list, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = list.find(separator);
    parts.push_back(Trim(list.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    list.remove_prefix(end + 1);
  }
}

}  // namespace idleburn
