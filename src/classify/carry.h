#pragma once

#include <vector>

#include "classify/totals.h"
#include "telemetry/device.h"
#include "telemetry/run_facts.h"

namespace idleburn {

// Carries every device of a run to the ends of a window whose start is known: where it was silent at either end for
// longer than `hold` (by its position in the run), that time is unobserved.
//
// Of a window that the user named, boards that took turns in one slot (one host and index, or bus id, and never read at
// one time) share it: a board that was replaced is one board's worth. That is wrong where two machines have one name;
// who names them apart (NODE=FILE) has two boards for the whole window. Boards known by UUID alone have no slot.
//
//     GPU 0, old board   ---xxxxxxxxx|                 x: rows      -: unobserved
//     GPU 0, new board               |---xxxxxxxxxx--
void CarryToEnds(const RunWindow& window, const DeviceTable& devices, const std::vector<Nanos>& hold, RunResult* run);

}  // namespace idleburn
