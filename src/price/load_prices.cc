#include "price/load_prices.h"

#include "os/input_file.h"
#include "text/time_zone.h"

namespace idleburn {

Result<PriceFile> OpenPrices(const std::string& path, const PriceFileOptions& options, const Catalogue& known,
                             DataQuality& quality) {
  const std::unique_ptr<ByteSource> in = TRY(OpenInput(path));
  return ReadPrices(*in, options, known, quality);
}

Result<Catalogue> LoadPrices(const std::string& file, DataQuality& quality) {
  Catalogue catalogue = Catalogue::BuiltIn();
  if (file.empty()) return catalogue;
  const PriceFile prices = TRY(OpenPrices(file, {}, catalogue, quality));
  for (const CatalogueRow& row : prices.rows) catalogue.Put(row);
  return catalogue;
}

std::string DayOrUndated(const std::optional<Instant>& as_of) { return as_of ? FormatDay(*as_of) : "undated"; }

Result<std::vector<Contract>> LoadContracts(const std::string& file) {
  if (file.empty()) return std::vector<Contract>();
  const std::unique_ptr<ByteSource> in = TRY(OpenInput(file));
  return ReadContracts(*in);
}

}  // namespace idleburn
