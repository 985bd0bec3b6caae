#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "classify/totals.h"
#include "telemetry/sample.h"

namespace idleburn {

// How many scrapes see the same collection. An exporter that collects every 30 s and is scraped every 10 s says each
// reading three times: so the lengths of runs of equal scrapes tell, if all gauges are looked at together. One gauge
// may truly stay where it is; all of them hardly do, unless the load is constant.
class CollectionRuns {
 public:
  // A scrape; `changed`: a gauge differs from the scrape before.
  void OnScrape(bool changed);
  // The median run, where runs are regular. Runs of one load are not: a change comes when it comes, also early. Of
  // collections none is shorter than n - 1 scrapes, so that more than a tenth of them shorter refutes n (kIrregular).
  // Constant throughout: nothing tells (kConstant). Wrong for a load that itself changes in step with the scrapes,
  // such as one step of work each 30 s and nothing that moves within it: then n is the period of the load, and the
  // interval that is reported is too wide, never too narrow.
  [[nodiscard]] Collection Told() const;

 private:
  static constexpr std::size_t kLongest = 64;  // and longer ones

  void Close(std::int64_t length);

  std::int64_t scrapes_ = 0;
  std::int64_t lead_ = 0;  // scrapes before the first change
  std::int64_t tail_ = 0;  // and since the last, if there was one
  bool changed_ = false;
  std::array<std::int64_t, kLongest + 1> runs_{};  // between two changes, by length
};

// Tells from the samples of one device which of its scrapes differ.
class CollectionWatch {
 public:
  // A row; `counter`: the bit of the counter that decides the phases. Rows of one time are one scrape.
  void OnRow(const Sample& sample, std::int64_t time, std::uint32_t counter);
  // Counts the scrape that is open, as before one of another time.
  void Settle();
  // The scrape that follows is compared with none before.
  void Forget();
  [[nodiscard]] const CollectionRuns& runs() const { return runs_; }

 private:
  CollectionRuns runs_;
  std::int64_t time_ = INT64_MIN;  // of the open scrape
  std::uint32_t before_ = 0;       // gauges of the scrape before
  std::uint32_t now_ = 0;          // of the open one
  bool counted_ = false;           // it has a reading of the counter
  bool changed_ = false;
  std::array<std::int64_t, kSignalCount> value_{};
};

}  // namespace idleburn
