#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tco/plan_cost.h"

namespace idleburn {

// The file that people write for idleburn tco. Numbers stand in quotes and are read exactly, a key that is not known is
// an error with a suggestion, and every message names its line: a wrong figure in a budget costs more than a refused
// file.

// Everything that a file holds (docs/tco.md).
struct TcoFile {
  // The scenario, then its variants, each whole.
  std::vector<TcoPlan> plans;
  std::optional<OwnOffer> own;
};

// Reads a file. `text` is TOML and `name` is what errors call it. `today` ("2026-11-21") tells how old prices are. The
// error is one line that says what is wrong, where, and how to write it.
Result<TcoFile> ReadTcoFile(const std::string& name, const std::string& text, const std::string& today);

// A commented file to start from.
std::string TcoTemplate();

}  // namespace idleburn
