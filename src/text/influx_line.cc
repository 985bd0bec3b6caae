#include "text/influx_line.h"

#include <algorithm>

#include "text/number.h"

namespace idleburn {
namespace {

constexpr std::string_view kEscaped = ",= \\";

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Takes what stands before one of the characters `ends`, none of them escaped, and resolves its escapes.
std::string TakeName(std::string_view& rest, std::string_view ends) {
  std::string name;
  std::size_t i = 0;
  for (; i < rest.size() && ends.find(rest[i]) == std::string_view::npos; ++i) {
    const bool escaped = rest[i] == '\\' && i + 1 < rest.size() && kEscaped.find(rest[i + 1]) != std::string_view::npos;
    if (escaped) ++i;
    name += rest[i];
  }
  rest.remove_prefix(i);
  return name;
}

bool TakeChar(std::string_view& rest, char c) {
  if (rest.empty() || rest.front() != c) return false;
  rest.remove_prefix(1);
  return true;
}

// "text", 12i, 12u, 1.5, t
bool TakeValue(std::string_view& rest, std::string* value) {
  value->clear();
  if (!TakeChar(rest, '"')) {
    *value = TakeName(rest, ", ");
    const bool typed = value->size() > 1 && (value->back() == 'i' || value->back() == 'u');
    if (typed && IsDigit((*value)[value->size() - 2])) value->pop_back();
    return !value->empty();
  }
  while (!rest.empty() && rest.front() != '"') {
    if (rest.front() == '\\' && rest.size() > 1 && (rest[1] == '"' || rest[1] == '\\')) rest.remove_prefix(1);
    *value += rest.front();
    rest.remove_prefix(1);
  }
  return TakeChar(rest, '"');
}

}  // namespace

bool ParseInfluxLine(std::string_view text, InfluxLine* line) {
  *line = {};
  std::string_view rest = Trim(text);
  if (rest.empty() || rest.front() == '#' || rest.front() == '{') return false;
  line->measurement = TakeName(rest, ", ");
  while (TakeChar(rest, ',')) {
    std::string tag = TakeName(rest, "=, ");
    if (tag.empty() || !TakeChar(rest, '=')) return false;
    line->tags.emplace_back(std::move(tag), TakeName(rest, ", "));
  }
  if (line->measurement.empty() || !TakeChar(rest, ' ')) return false;
  rest = Trim(rest);
  do {
    std::string field = TakeName(rest, "=, ");
    std::string value;
    if (field.empty() || !TakeChar(rest, '=') || !TakeValue(rest, &value)) return false;
    line->fields.emplace_back(std::move(field), std::move(value));
  } while (TakeChar(rest, ','));
  if (!rest.empty() && rest.front() != ' ') return false;
  line->stamp = Trim(rest);
  return std::all_of(line->stamp.begin(), line->stamp.end(), IsDigit);
}

}  // namespace idleburn
