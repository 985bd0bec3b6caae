#include "import/sweep_identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace idleburn {
namespace {

constexpr std::size_t kBlock = 4096;
constexpr std::size_t kHeld = 16 * kBlock;
constexpr std::size_t kEnoughToJudge = 512;  // rows of a last block
constexpr std::size_t kOwnPauses = 16;       // sweeps of a block that tell their pause by themselves
constexpr int kOddInSuccession = 5;          // sweeps: more than chance
constexpr std::int64_t kFewOf = 20;          // one row in so many may be dropped, one block unclear
constexpr double kDoubt = 0.3;               // of the time, in pauses of some number
constexpr double kVisible = 0.8;             // of the time, in pauses after sweeps of the number that was said

std::string Gpus(int n) { return std::to_string(n) + (n == 1 ? " GPU" : " GPUs"); }

tl::unexpected<Error> Refuse(std::int64_t line, const std::string& what) {
  return Fail(std::to_string(line) + ": " + what +
              "; several GPUs without index: add `index,uuid` to --query-gpu, or pass `--gpus N`");
}

}  // namespace

void SweepIdentity::Piece::Add(const Sample& row, std::int64_t line) {
  rows.push_back(row);
  lines.push_back(line);
}

void SweepIdentity::Piece::Append(const Piece& other) {
  rows.insert(rows.end(), other.rows.begin(), other.rows.end());
  lines.insert(lines.end(), other.lines.begin(), other.lines.end());
}

Result<void> SweepIdentity::Add(const Sample& row, std::int64_t line) {
  ++all_;
  block_.Add(row, line);
  return block_.rows.size() - judged_ < kBlock ? Result<void>{} : TakeBlock();
}

std::vector<Sample> SweepIdentity::TakePlaced() { return std::exchange(placed_, {}); }

Result<void> SweepIdentity::TakeBlock() {
  const std::size_t from = std::exchange(judged_, block_.rows.size());
  const SweepFinding finding = FindSweeps(std::span(block_.rows).subspan(from), gpus_ <= kMaxSweep ? gpus_ : 0);
  if (blocks_++ == 0) {
    why_ = finding.why;
    by_count_ = gpus_ > 1 && (gpus_ > kMaxSweep || finding.share[static_cast<std::size_t>(gpus_)] < kVisible);
    if (by_count_ && finding.turns.gpus > 0) order_.emplace(finding.turns, gpus_);
  }
  unclear_ += finding.gpus == 0 ? 1 : 0;
  // One GPU is no pattern that placing could check, so nothing may speak against it.
  const double most = *std::max_element(finding.share.begin(), finding.share.end());
  const bool doubted = !said_ && gpus_ == 1 && finding.gpus == 0 && most > kDoubt;
  if (doubted) return Refuse(block_.lines[from], finding.why);
  if (gpus_ == 0 && finding.gpus == 1 && unclear_ > 0) return Refuse(block_.lines.front(), why_);
  if (gpus_ == 0) gpus_ = finding.gpus;
  if (gpus_ > 0 && !pool_) pool_.emplace(static_cast<std::size_t>(gpus_));
  if (gpus_ == 0) {
    return block_.rows.size() < kHeld ? Result<void>{} : Refuse(block_.lines.front(), why_);
  }
  TRY(CheckAgrees(finding, block_.lines[from]));
  return Place();
}

Result<void> SweepIdentity::CheckAgrees(const SweepFinding& finding, std::int64_t line) const {
  if (said_ && *said_ > 1 && finding.turns.gpus > 0 && *said_ % finding.turns.gpus != 0) {
    return Fail(
        fmt::format("{}: --gpus {} contradicts the readings: {}; give the right number, or record index and uuid", line,
                    *said_, Describe(finding.turns, Info(finding.turns.signal).name)));
  }
  if (finding.gpus == 0 || finding.gpus == gpus_) return {};
  if (!said_) {
    return Refuse(line, "the rows from here on are of " + Gpus(finding.gpus) + ", those before of " + Gpus(gpus_));
  }
  const auto shown = [&](int gpus) {
    const double share = gpus <= kMaxSweep ? finding.share[static_cast<std::size_t>(gpus)] : 0;
    return gpus == 1 ? std::string("evenly spaced single rows")
                     : fmt::format("pauses after {} rows take {:.0f} % of the time", gpus, 100 * share);
  };
  return Fail(fmt::format(
      "{}: --gpus {} contradicts the stamps, which show {}: {}{}; give the right number, or record "
      "index and uuid",
      line, *said_, Gpus(finding.gpus), shown(finding.gpus), *said_ == 1 ? std::string() : ", not " + shown(*said_)));
}

// A row further from the one before it than this begins a sweep.
std::vector<std::int64_t> SweepIdentity::PausesOfBlock() const {
  const std::vector<Sample>& rows = block_.rows;
  const auto gpus = static_cast<std::size_t>(gpus_);
  if (rows.size() < kOwnPauses * gpus && pause_ > 0) return std::vector<std::int64_t>(rows.size(), pause_);
  if (!by_count_) return PausesFrom(rows, gpus_);
  // Only what is much longer than a sweep shows that rows are missing.
  std::vector<std::int64_t> sweeps;
  for (std::size_t i = gpus; i < rows.size(); ++i) sweeps.push_back(Apart(rows[i - gpus], rows[i]));
  if (sweeps.empty()) return std::vector<std::int64_t>(rows.size(), kNanosPerHour);
  const auto middle = sweeps.begin() + static_cast<std::ptrdiff_t>(sweeps.size() / 2);
  std::nth_element(sweeps.begin(), middle, sweeps.end());
  return std::vector<std::int64_t>(rows.size(), *middle * 3 / 2 + kNanosPerSecond);
}

Result<void> SweepIdentity::Place() {
  const std::vector<std::int64_t> pauses = gpus_ == 1 ? std::vector<std::int64_t>() : PausesOfBlock();
  for (std::size_t i = 0; i < block_.rows.size(); ++i) {
    const Sample& row = block_.rows[i];
    if (gpus_ > 1 && last_) {
      pause_ = pauses[i > 0 || pauses.size() == 1 ? i : 1];
      if (Apart(*last_, row) >= pause_) TRY(Close(2 * pause_));
    }
    last_ = row;
    open_.Add(row, block_.lines[i]);
    if (gpus_ == 1 || (by_count_ && open_.rows.size() == static_cast<std::size_t>(gpus_))) TRY(Emit(open_));
  }
  block_ = {};
  judged_ = 0;
  return {};
}

// A piece ends here; pauses usually last `pause`.
Result<void> SweepIdentity::Close(std::int64_t pause) {
  using Fate = SweepPool::Fate;
  const auto gpus = static_cast<std::size_t>(gpus_);
  if (open_.rows.empty()) return {};
  const std::int64_t before = waiting_.rows.empty() ? 0 : (open_.rows.front().time - piece_start_).count();
  piece_start_ = open_.rows.front().time;
  if (waiting_.rows.empty() && open_.rows.size() > gpus && open_.rows.size() < 2 * gpus &&
      open_.Span() <= pause * 3 / 10) {
    more_rows_ = open_.rows.size();
    more_line_ = open_.lines.front();
    if (names_.empty()) return RefuseMore();
  }
  const Fate fate = by_count_ ? Fate::kNone : pool_->Next(open_.rows.size(), open_.Span(), before, pause);
  if (fate != Fate::kWhole && fate != Fate::kWaits) TRY(Drop(waiting_));
  waiting_.Append(open_);
  open_ = {};
  if (fate == Fate::kNone) return Drop(waiting_);
  return fate == Fate::kWhole || fate == Fate::kAlone ? Emit(waiting_) : Result<void>{};
}

// More rows in the first sweeps or the last show a GPU that is not there in the others; in between they may be a sweep
// that came so late that the next one followed at once.
Result<void> SweepIdentity::RefuseMore() const {
  return Refuse(more_line_, "the sweep that begins here has " + std::to_string(more_rows_) + " rows, others have " +
                                std::to_string(gpus_));
}

Result<void> SweepIdentity::Emit(Piece& sweep) {
  if (order_ && !order_->Keeps(sweep.rows)) {
    return Fail(
        fmt::format("{}: by {} the GPUs have changed places shortly before, as where a row is missing; record "
                    "index and uuid, or audit the rows before and after as two logs",
                    sweep.lines.front(), Info(order_->signal()).name));
  }
  for (std::size_t i = 0; i < sweep.rows.size(); ++i) {
    Sample& row = sweep.rows[i];
    const std::size_t position = i % static_cast<std::size_t>(gpus_);
    if (names_.size() == position) names_.push_back(row.device);
    if (names_[position] == 0) names_[position] = row.device;
    if (row.device != 0 && names_[position] != row.device) {
      return Refuse(sweep.lines[i], "the GPU at position " + std::to_string(position) + " has another name here");
    }
    row.device = static_cast<DeviceId>(position);
  }
  placed_.insert(placed_.end(), sweep.rows.begin(), sweep.rows.end());
  sweep = {};
  odd_sweeps_ = 0;
  more_rows_ = 0;
  return {};
}

Result<void> SweepIdentity::Drop(Piece& piece) {
  if (piece.rows.empty()) return {};
  if (dropped_ == 0) first_dropped_ = piece.lines.front();
  dropped_ += static_cast<std::int64_t>(piece.rows.size());
  if (odd_sweeps_ == 0 || odd_rows_ != piece.rows.size()) {
    odd_rows_ = piece.rows.size();
    odd_sweeps_ = 0;
    odd_line_ = piece.lines.front();
  }
  piece = {};
  if (++odd_sweeps_ < kOddInSuccession || by_count_) return {};
  return Refuse(odd_line_, "sweeps from here on do not have " + std::to_string(gpus_) +
                               " rows like the others: a GPU was lost or came; audit the rows before this line alone");
}

Result<void> SweepIdentity::Finish() {
  if (all_ == 0) return {};
  const std::size_t rest = block_.rows.size() - judged_;
  if (rest > 0 && (blocks_ == 0 || rest >= kEnoughToJudge)) TRY(TakeBlock());
  const std::int64_t end = block_.lines.empty() ? 0 : block_.lines.front();
  if (gpus_ == 0) return Refuse(end, why_);
  TRY(Place());
  TRY(Close(2 * pause_));
  cut_off_ = static_cast<std::int64_t>(waiting_.rows.size());
  waiting_ = {};
  if (more_rows_ > 0) return RefuseMore();
  if (!said_ && unclear_ > 1 + blocks_ / kFewOf) return Refuse(first_dropped_, why_);
  if (dropped_ * kFewOf > all_) {
    return Refuse(first_dropped_,
                  fmt::format("{} of {} rows from here on are in sweeps with missing rows", dropped_, all_));
  }
  return {};
}

}  // namespace idleburn
