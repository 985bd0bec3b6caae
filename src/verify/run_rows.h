#pragma once

#include <vector>

#include "verify/measured_run.h"

namespace idleburn {

// Rows must be true readings: a counter that is polled faster than it moves, or a gauge faster than it is renewed,
// repeats itself and only pretends to know more. Nothing is lost, rows only grow:
//  - a row that ends when the one before it ended is that reading again, and is left out;
//  - a row without work joins the next one, which ends where the count moved;
//  - where at least a third of the rows say exactly what the row before said, and not all do, each stretch of equal
//    rows is one reading. A log whose every row is the same stays as it is: nothing tells it from a steady job.
// Meant for continuous telemetry; a log of steps has one row a step by itself.
WorkPiece MergeRepeated(const WorkPiece& rows);

// Sums consecutive rows within each piece, so that at most about a thousand are left of all (500 or more, of many):
// slow noise is then within reach of the correlation time. Rows are spread evenly, none is left over.
std::vector<WorkPiece> SumRows(const std::vector<WorkPiece>& pieces);

std::size_t CountRows(const std::vector<WorkPiece>& pieces);
// GPU-seconds and work of all rows, at the end of the last.
WorkRow SumOf(const WorkPiece& rows);

// Mean time from one row's end to the next within pieces, in seconds; 0 where no piece has two rows.
double SecondsBetweenRows(const std::vector<WorkPiece>& pieces);

}  // namespace idleburn
