#pragma once

#include <vector>

#include "base/byte_source.h"
#include "base/result.h"
#include "verify/reversion.h"

namespace idleburn {

// Jobs in two periods as CSV, a row each:
//   job            its name, each once
//   before, after  the value that jobs were selected by, where a larger one is better (utilisation, units a GPU-hour)
//   selected       yes or no: whether it was among those that were to be improved; the others were left alone
// Other columns are passed over. Fails, naming line and column, on what is none of these.
Result<std::vector<JobPair>> ReadJobsCsv(ByteSource& in);

}  // namespace idleburn
