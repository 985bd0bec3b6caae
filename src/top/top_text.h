#pragma once

#include <string>

#include "top/top_board.h"

namespace idleburn {

// A moment as tables, for a terminal of that many columns.
std::string TopTables(const TopView& view, int width);
// A moment as one line a GPU and one a process, for logs and pipes.
std::string TopLines(const TopView& view);

}  // namespace idleburn
