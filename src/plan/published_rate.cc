#include "plan/published_rate.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/result.h"
#include "plan/gpu_rate.h"
#include "plan/model_table.h"
#include "text/csv.h"
#include "text/number.h"

namespace idleburn {

// A rate is carried over between two ratios: that of the peaks, near which matmuls lie, and that of the bandwidths,
// near which convolutions lie. The likely value is their geometric mean. Numbers without a source are engineering
// values.

namespace embedded {
extern const std::string_view rates_csv;
}  // namespace embedded

namespace {

struct PublishedRow {
  std::string model;
  std::string gpu;
  double gpus = 1;
  bool wide = false;
  double samples_s = 0;
  std::string what;
};

std::vector<PublishedRow> ReadRates() {
  std::vector<PublishedRow> rows;
  StringSource in{std::string(embedded::rates_csv), "data/plan/rates.csv"};
  CsvTable table(in);
  CHECK(table.ReadHeader());
  while (true) {
    const Result<bool> more = table.Next();
    CHECK(more);
    if (!*more) return rows;
    const auto number = [&](std::string_view column) {
      return static_cast<double>(ParseInteger(table.Cell(column)).value_or(0));
    };
    rows.push_back({PlainModelName(table.Cell("model")), std::string(table.Cell("gpu")), number("gpus"),
                    table.Cell("format") == "wide", number("samples_s"), std::string(table.Cell("what"))});
  }
}

// The published rate that is nearest: of the same GPU before others, and of one or several GPUs as the run has.
const PublishedRow* NearestRate(const RunRow& row) {
  static const std::vector<PublishedRow> kPublished = ReadRates();
  const std::optional<GpuRate> gpu = RateOf(row.run.gpu);
  const std::string model = PlainModelName(row.facts.name);
  const PublishedRow* best = nullptr;
  int nearest = 0;
  for (const PublishedRow& rate : kPublished) {
    if (rate.model != model || rate.wide != row.run.wide) continue;
    const int same = (gpu && rate.gpu == gpu->gpu ? 2 : 0) + ((rate.gpus > 1) == (row.run.gpus > 1) ? 1 : 0);
    if (best != nullptr && same <= nearest) continue;
    best = &rate;
    nearest = same;
  }
  return best;
}

}  // namespace

std::optional<LikelyRange> PublishedSamplesPerSecond(const RunRow& row) {
  constexpr double kScaling = 0.9;       // of several GPUs in a machine, of what one does
  constexpr double kLeastScaling = 0.8;  // and at worst
  constexpr double kSameGpu = 0.1;       // relative difference of two runs of one program on one GPU
  const PublishedRow* rate = NearestRate(row);
  const std::optional<GpuRate> to = RateOf(row.run.gpu);
  if (rate == nullptr || !to) return std::nullopt;
  const GpuRate from = *RateOf(rate->gpu);
  const MatmulFormat format = FormatOfRun(row.run);
  const double arithmetic = PeakFlops(*to, format) / PeakFlops(from, format);
  const double bandwidth = to->bandwidth_gbs / from.bandwidth_gbs;
  const double each = rate->samples_s / rate->gpus;
  LikelyRange range = {each * std::sqrt(arithmetic * bandwidth),
                       each * std::min(arithmetic, bandwidth) * (1 - kSameGpu),
                       each * std::max(arithmetic, bandwidth) * (1 + kSameGpu)};
  if (row.run.gpus > 1 && rate->gpus <= 1) {
    range.likely *= kScaling;
    range.low *= kLeastScaling;
  }
  return range;
}

std::string PublishedSample(const RunRow& row) {
  const PublishedRow* rate = NearestRate(row);
  return rate == nullptr ? std::string() : rate->what;
}

}  // namespace idleburn
