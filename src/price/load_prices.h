#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "price/catalogue.h"
#include "price/contract.h"
#include "price/price_file.h"
#include "telemetry/data_quality.h"

namespace idleburn {

// The shipped catalogue, with the rows of the user's file over it ("": none).
Result<Catalogue> LoadPrices(const std::string& file, DataQuality& quality);

// The rows of a price file; what was left out of it is in the result.
Result<PriceFile> OpenPrices(const std::string& path, const PriceFileOptions& options, const Catalogue& known,
                             DataQuality& quality);

// The day of a price: "2026-11-21", or "undated".
std::string DayOrUndated(const std::optional<Instant>& as_of);

// The contracts of a file ("": none).
Result<std::vector<Contract>> LoadContracts(const std::string& file);

}  // namespace idleburn
