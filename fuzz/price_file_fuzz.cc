// Any price list, of our own columns or of a SkyPilot catalogue: what is read has prices, and is read again as written.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "price/catalogue.h"
#include "text/line_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const idleburn::Catalogue known;
  idleburn::PriceFileOptions options;
  options.provider = "acme";
  const auto read = [&](const std::string& text) {
    idleburn::StringSource in(text, "prices.csv");
    idleburn::DataQuality quality;
    return idleburn::ReadPrices(in, options, known, quality);
  };
  const auto file = read(std::string(reinterpret_cast<const char*>(data), size));
  if (!file) return 0;
  std::vector<const idleburn::CatalogueRow*> rows;
  for (const idleburn::CatalogueRow& row : file->rows) {
    CHECK(row.per_hour > idleburn::Money() && row.gpu_micros > 0);
    rows.push_back(&row);
  }
  const auto again = read(idleburn::WritePrices(rows));
  CHECK(again && again->rows.size() == rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CHECK(again->rows[i].per_hour == rows[i]->per_hour && again->rows[i].gpu_micros == rows[i]->gpu_micros);
  }
  return 0;
}
