#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_source.h"
#include "base/money.h"
#include "base/result.h"
#include "base/time.h"
#include "price/stated_price.h"

namespace idleburn {

// A price that was agreed, or what is committed for a number of GPUs, for a span of time.
struct Contract {
  std::string name;
  std::vector<GpuSelector> applies_to;
  Money per_gpu_hour;                // of a commitment: what is paid an hour / its GPUs
  std::optional<Money> committed;    // an hour, whether its GPUs are used or not
  std::optional<std::int64_t> gpus;  // it covers so many at a time; absent: any number
  std::string currency = "USD";
  std::optional<Instant> from, until;  // in force in [from, until)
};

// Reads a table of contracts: columns name, applies_to (GPUs as --price names them, several with ; between), and
// per_gpu_hour or both committed_per_hour and gpus; if they are there, gpus, currency, from and until (a day or an RFC
// 3339 time, UTC). A cell that is wrong is an error that names file and line.
Result<std::vector<Contract>> ReadContracts(ByteSource& in);

// "contract acme-2026: 2.00 per GPU-hour, 16.00 an hour for 8 GPUs, from 2026-01-01 to 2027-01-01".
std::string Describe(const Contract& contract);

}  // namespace idleburn
