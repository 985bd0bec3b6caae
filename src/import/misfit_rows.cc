#include "import/misfit_rows.h"

namespace idleburn {
namespace {

Result<void> Refuse(const MisfitRun& run, const std::string& file) {
  return Fail(file + ":" + std::to_string(run.line) + ": the columns change here without a header: the row " + run.why +
              "; split the file where they change and give each part its own header");
}

}  // namespace

void MisfitRows::Add(const MisfitRun& run) {
  if (last_.count > 0 && last_.cells == run.cells && last_.good_before == run.good_before) {
    last_.count += run.count;
  } else {
    last_ = run;
  }
  if (run.cells == header_cells_) return;
  by_cells_.try_emplace(run.cells, MisfitRun{run.cells, 0, run.line, 0, run.why}).first->second.count += run.count;
  if (!long_ && last_.count >= kSurely) long_ = last_;
}

Result<void> MisfitRows::Verdict(std::int64_t good_rows, const std::string& file) const {
  if (long_) return Refuse(*long_, file);
  if (last_.count >= kSurely && last_.good_before == good_rows) return Refuse(last_, file);
  for (const auto& [cells, all] : by_cells_) {
    if (all.count >= kSurely && all.count > (good_rows + all.count) / kFewOf) return Refuse(all, file);
  }
  return {};
}

}  // namespace idleburn
