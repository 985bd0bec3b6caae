#include "bill/focus_columns.h"

#include "text/strings.h"

namespace idleburn {

std::optional<FocusColumn> FocusColumnNamed(std::string_view name) {
  // Warehouses change the case and put underscores between words; no two columns differ by these alone.
  const std::string wanted = Squash(name);
  for (const FocusColumnFacts& column : kFocusColumns) {
    if (Squash(column.name) == wanted) return column.id;
  }
  return std::nullopt;
}

}  // namespace idleburn
