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

// An agreed price, or a commitment for a number of GPUs, over a span of time (docs/contracts.md, "Contracts").
//
// A commitment is paid whether its GPUs are used or not. Its price per GPU-hour is what is paid divided by all its
// GPUs, not by the used ones. Otherwise an idle neighbour would make the GPUs of this run look dearer.
struct Contract {
  std::string name;
  std::vector<GpuSelector> applies_to;
  Money per_gpu_hour;                // of a commitment: what is paid per hour / its GPUs
  std::optional<Money> committed;    // paid per hour, whether its GPUs are used or not
  std::optional<std::int64_t> gpus;  // how many it covers at a time; absent: any number
  std::string currency = "USD";
  std::optional<Instant> from, until;  // in force in [from, until)
};

// Reads a table of contracts. Columns: name; applies_to, GPUs as --price names them, separated by ";"; either
// per_gpu_hour, or committed_per_hour and gpus; and if present gpus, currency, from and until (a day or an RFC 3339
// time in UTC). Example: "spring,A100;node03,1.10,,,USD,2026-01-01,2027-01-01". A bad cell is an error that names
// file and line.
Result<std::vector<Contract>> ReadContracts(ByteSource& in);

// For the source of a rate: "contract acme-2026: 2.00 per GPU-hour, 16.00 an hour for 8 GPUs, from 2026-01-01 to
// 2027-01-01".
std::string Describe(const Contract& contract);

}  // namespace idleburn
