#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "support/source_tree.h"

namespace idleburn::testing {

// A folder of src/ (or main.cc) and the modules that its files may include besides their own.
struct LayerRow {
  std::string_view module;
  int layer;
  std::vector<std::string_view> may_use;
};

// Each row uses only rows of lower layers, which stand above it.
Faults TableFaults(std::span<const LayerRow> table);
// Every folder of src/ has a row, and every row a folder.
Faults FolderFaults(const SourceTree& tree, std::span<const LayerRow> table);
// Every quoted #include in src/ names an existing file by its path from src/, in a module of the includer's row.
// Unit tests may look anywhere.
Faults IncludeFaults(const SourceTree& tree, std::span<const LayerRow> table);
// What a row allows and no file of its module includes: a way that stands open for nothing. Unit tests do not count.
Faults UnusedFaults(const SourceTree& tree, std::span<const LayerRow> table);
// Files of src/ that include each other in a circle.
Faults CycleFaults(const SourceTree& tree);
// idleburn_module(NAME deps...) of CMakeLists.txt: what is linked is allowed by the row, and all the row allows is
// linked, directly or through another module.
Faults LinkFaults(const SourceTree& tree, std::span<const LayerRow> table);
// The rows "| layer | `module` | uses | ..." of docs/ARCHITECTURE.md say the same as the table.
Faults DocumentFaults(const SourceTree& tree, std::span<const LayerRow> table);

}  // namespace idleburn::testing
