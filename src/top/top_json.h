#pragma once

#include <span>
#include <string>

#include "base/run_ids.h"
#include "top/top_board.h"

namespace idleburn {

// A moment as one line: the document of docs/json.md, schema idleburn.top/1, with a newline at its end. `notes` are
// what happened since the last one. Every line is complete by itself, so a reader may start at any of them.
std::string TopJson(const TopView& view, std::span<const std::string> notes, const RunIds& ids);

}  // namespace idleburn
