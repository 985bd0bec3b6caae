#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/byte_source.h"
#include "price/catalogue.h"
#include "telemetry/data_quality.h"

namespace idleburn {

// What a SkyPilot catalogue does not say of itself.
struct PriceFileOptions {
  std::string provider;          // required for it
  std::optional<Instant> as_of;  // of the file's prices; absent: undated
};

// The rows of a price file, and what was left out of it and why.
struct PriceFile {
  std::vector<CatalogueRow> rows;
  std::int64_t host_only = 0;         // rows without an accelerator: a host that is priced apart from its GPUs
  std::int64_t gpu_only = 0;          // the other half: a GPU without the host that it needs
  std::int64_t unavailable = 0;       // no price, or the code 700.0: not for sale, not $700
  std::int64_t spot_not_offered = 0;  // a spot price equal to on-demand is no offer
  std::int64_t not_told_apart = 0;    // several offers of one key: the dearest is kept
  std::int64_t form_not_stated = 0;   // "H100" without SXM, PCIe or NVL: reached by its key only
};

// Reads prices in either layout, told by the header:
// - our own: provider,region,instance,gpu,gpu_count,market,price,as_of,source (as_of and source may be missing); two
//   rows of one key, whatever its case, that differ in price, gpu_count or gpu are an error;
// - a SkyPilot catalogue: InstanceType, AcceleratorName, AcceleratorCount, Price, Region, and SpotPrice and
//   AvailabilityZone if it has them, in any order. A key whose zones have several prices goes by its zone.
// A GPU name is made that of the catalogue: from the same instance in `known`, else by its aliases. A price that is
// not a positive decimal up to 9.2 billion, a missing column or cell is an error that names file and line. Prices
// with more than nine decimals are rounded half to even and counted in `quality`.
Result<PriceFile> ReadPrices(ByteSource& in, const PriceFileOptions& options, const Catalogue& known,
                             DataQuality& quality);

// Our own layout, readable by ReadPrices.
std::string WritePrices(std::span<const CatalogueRow* const> rows);

}  // namespace idleburn
