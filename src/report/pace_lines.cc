#include "report/pace_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "report/display.h"
#include "text/number.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

constexpr std::size_t kPiecesShown = 6;

std::string Gpus(std::int64_t n) { return fmt::format("{} GPU{}", n, n == 1 ? "" : "s"); }

// "2 s, 20 s from 2026-07-02T14:00:00Z".
std::string PiecesText(const std::vector<PeriodPiece>& pieces, Instant start) {
  std::string text;
  for (std::size_t i = 0; i < pieces.size() && i < kPiecesShown; ++i) {
    text += fmt::format("{}{:.3g} s", i == 0 ? "" : ", ", InSeconds(pieces[i].period));
    if (i == 0) continue;
    text += IsDated(pieces[i].start) ? " from " + FormatRfc3339(pieces[i].start)
                                     : fmt::format(" from second {:g}", InSeconds(pieces[i].start - start));
  }
  if (pieces.size() > kPiecesShown) text += fmt::format(" and {} more changes", pieces.size() - kPiecesShown);
  return text;
}

// GPUs that changed their pace alike make one line, with the instants of the first.
void AddPieces(const AuditReport& report, std::vector<std::string>& lines) {
  std::map<std::vector<std::string>, std::pair<const DeviceResult*, std::int64_t>> alike;
  for (const DeviceResult& d : report.run.devices) {
    if (d.periods.size() < 2) continue;
    std::vector<std::string> paces;
    for (const PeriodPiece& piece : d.periods) paces.push_back(fmt::format("{:.2g}", InSeconds(piece.period)));
    ++alike.try_emplace(std::move(paces), &d, 0).first->second.second;
  }
  for (const auto& [paces, found] : alike) {
    const auto& [device, gpus] = found;
    const std::string which = gpus == 1
                                  ? DeviceLabel(report, device->device)
                                  : fmt::format("{}, on {} first", Gpus(gpus), DeviceLabel(report, device->device));
    lines.push_back(
        fmt::format("Sampling period changed ({}): {}.", which, PiecesText(device->periods, device->first)));
  }
}

void AddCollections(const AuditReport& report, std::vector<std::string>& lines) {
  using Known = Collection::Known;
  std::map<std::int64_t, std::pair<const DeviceResult*, std::int64_t>> told;
  std::int64_t constant = 0;
  std::int64_t irregular = 0;
  for (const DeviceResult& d : report.run.devices) {
    const Collection& c = d.collection;
    if (c.known == Known::kConstant) ++constant;
    if (c.known == Known::kIrregular) ++irregular;
    if (c.known == Known::kTold && c.scrapes > 1) ++told.try_emplace(c.scrapes, &d, 0).first->second.second;
  }
  for (const auto& [scrapes, found] : told) {
    const TickView ticks = TicksOf(*found.first, report.thresholds);
    lines.push_back(
        fmt::format("The exporter of {} collects every {:.3g} s but is scraped every {:.3g} s: {} scrapes hold {} "
                    "independent readings{}.",
                    Gpus(found.second), InSeconds(*found.first->period * scrapes), InSeconds(*found.first->period),
                    ticks.total, ticks.independent, found.second > 1 ? " per GPU" : ""));
  }
  if (constant > 0)
    lines.push_back(
        fmt::format("No gauge of {} ever changed: how often the exporter collects is unknown, and so is the "
                    "error of the mean.",
                    Gpus(constant)));
  if (irregular > 0)
    lines.push_back(
        fmt::format("Scrapes of {} repeat at no regular distance: the exporter's collection interval is "
                    "unknown; the error of the mean assumes the median.",
                    Gpus(irregular)));
}

}  // namespace

std::vector<std::string> PaceLines(const AuditReport& report) {
  std::vector<std::string> lines;
  AddPieces(report, lines);
  AddCollections(report, lines);
  std::int64_t coarse = 0;
  double most = 0;
  for (const DeviceResult& d : report.run.devices) {
    if (const std::optional<double> rows = d.totals.RowsPerStamp()) {
      ++coarse;
      most = std::max(most, *rows);
    }
  }
  if (coarse > 0)
    lines.push_back(
        fmt::format("Stamps of {} carry up to {:.3g} rows each: a stamp counts as the mean of its rows, and "
                    "bursts within it cannot be told.",
                    Gpus(coarse), most));
  return lines;
}

}  // namespace idleburn
