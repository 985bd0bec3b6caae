#pragma once

#include <span>
#include <string>

#include "base/run_ids.h"
#include "top/top_board.h"

namespace idleburn {

// How `idleburn top` writes a moment, for people, logs and programs. The text holds no control characters of its own,
// and what processes say of themselves (users, commands) is made printable first.
//
// Money and time are rounded so that rows and columns add up to what stands below them.

// A moment as three tables: what every GPU does now, who holds it, and what came of its time since the start. `width`
// is the number of columns of the terminal; what does not fit is cut or left out. Where nothing was read yet, it says
// so.
std::string TopTables(const TopView& view, int width);
// A moment as one line for each GPU and each process, for logs and pipes. A line begins with the time and names what it
// is of, so that lines can be searched. Empty where nothing was read yet.
std::string TopLines(const TopView& view);

// A moment as one line: the document of docs/json.md, schema idleburn.top/1, with a newline at its end. `notes` are
// what happened since the last one. Every line is complete by itself, so a reader may start at any of them.
std::string TopJson(const TopView& view, std::span<const std::string> notes, const RunIds& ids);

}  // namespace idleburn
