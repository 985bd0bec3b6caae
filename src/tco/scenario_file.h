#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tco/own_or_rent.h"
#include "tco/plan.h"

namespace idleburn {

// What a file of `idleburn tco` holds (docs/tco.md).
struct TcoFile {
  std::vector<TcoPlan> plans;  // the scenario, then its variants, each whole
  std::optional<OwnOffer> own;
};

// `text` is TOML; `name` is what errors call it. `today` ("2026-11-21") tells how old prices are. One line says what is
// wrong, where, and how to write it.
Result<TcoFile> ReadTcoFile(const std::string& name, const std::string& text, const std::string& today);

// A commented file to start from.
std::string TcoTemplate();

}  // namespace idleburn
