#include "import/sweeps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/time.h"

namespace idleburn {

// How many GPUs wrote the rows, if no row says so? nvidia-smi -l writes one row per GPU and then sleeps:
//
//     row    0 1 2 3         0 1 2 3         0 1 2 3
//     time   ||||............||||............||||......  four GPUs
//
// FindSweeps tries every number of GPUs up to kMaxSweep. It cuts the rows at long distances and measures which share of
// the time is pauses behind whole sweeps. If no number reaches 90 %, the rows may be of one GPU. That takes proof too:
// even spacing, no pattern in the distances, and no reading that alternates. A wrong number would charge the wrong
// number of GPUs, so in doubt the log is refused with advice.
//
// SweepIdentity applies the answer to a whole log, block by block, and checks it again in every block.

namespace {

constexpr std::int64_t kMs = kNanosPerSecond / 1000;
constexpr std::size_t kWindow = 32;             // sweeps
constexpr std::size_t kFewSweeps = 16;          // a log with fewer must have no torn sweep
constexpr double kProof = 0.90;                 // share of time in pauses
constexpr std::int64_t kOneQuery = 50 * kMs;    // nvidia-smi queries a GPU faster than this
constexpr std::int64_t kSlowQuery = 500 * kMs;  // and never slower than this
// A temperature that changes by less from row to row may follow a load, so it is no proof of several GPUs.
constexpr double kLoadWarms = 5000;            // millicelsius, from row to row
constexpr std::int64_t kClockTick = 20 * kMs;  // the coarsest clock behind millisecond stamps

// The value that a share `q` of the values does not exceed. 0 without values.
std::int64_t Quantile(std::vector<std::int64_t> values, double q) {
  if (values.empty()) return 0;
  const auto at = static_cast<std::size_t>(q * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

// The pause after a sweep, as a quantile of the distances between rows: one distance in `gpus` is such a pause.
double PauseQuantile(int gpus) { return 1 - 1 / (2.0 * gpus); }

// The distances between neighbors, one fewer than rows.
std::vector<std::int64_t> Distances(std::span<const Sample> rows) {
  std::vector<std::int64_t> apart;
  for (std::size_t i = 1; i < rows.size(); ++i) apart.push_back(Apart(rows[i - 1], rows[i]));
  return apart;
}

// The usual pause around each distance, by windows of sweeps, since the interval of a log may change.
std::vector<std::int64_t> UsualPauses(const std::vector<std::int64_t>& apart, int gpus) {
  const std::size_t window = kWindow * static_cast<std::size_t>(gpus);
  const std::size_t windows = std::max<std::size_t>(1, apart.size() / window);
  std::vector<std::int64_t> pauses(apart.size());
  for (std::size_t w = 0; w < windows; ++w) {
    const auto from = static_cast<std::ptrdiff_t>(w * window);
    const auto to =
        w + 1 == windows ? static_cast<std::ptrdiff_t>(apart.size()) : from + static_cast<std::ptrdiff_t>(window);
    const std::int64_t pause = Quantile({apart.begin() + from, apart.begin() + to}, PauseQuantile(gpus));
    std::fill(pauses.begin() + from, pauses.begin() + to, pause);
  }
  return pauses;
}

// Sweeps of one number of rows, as a stretch of a log shows them.
struct Sweeps {
  double share = 0;                 // share of time in whole sweeps, times the usual share of the pause in a sweep
  std::vector<std::int64_t> apart;  // distances within sweeps
  std::int64_t apart_usually = 0;
  bool all_whole = true;   // no sweep is torn
  std::int64_t pause = 0;  // the usual one
};

// Cuts the rows at long distances into sweeps of `gpus` rows and measures how well that fits.
Sweeps CutInto(int gpus, const std::vector<std::int64_t>& apart) {
  using Fate = SweepPool::Fate;
  const std::vector<std::int64_t> pauses = UsualPauses(apart, gpus);
  SweepPool pool(static_cast<std::size_t>(gpus));
  Sweeps found;
  double whole = 0;
  double all = 0;
  double waiting = 0;  // of pieces that wait
  double time = 0;     // since the last pause
  std::size_t rows = 1;
  std::int64_t span = 0;
  std::int64_t before = 0;  // from the start of the last piece
  bool first = true;
  for (std::size_t i = 0; i < apart.size(); ++i) {
    // A long break would outweigh everything else, so it counts as three pauses.
    const auto clipped = static_cast<double>(std::min(apart[i], 3 * pauses[i]));
    time += clipped;
    // Within a sweep: less than half of a pause.
    if (pauses[i] == 0 || 2 * apart[i] < pauses[i]) {
      ++rows;
      span += apart[i];
      found.apart.push_back(apart[i]);
      continue;
    }
    // A pause ends a piece.
    const Fate fate = pool.Next(rows, span, before, pauses[i]);
    if (fate == Fate::kWhole) whole += waiting;
    if (fate == Fate::kWhole || fate == Fate::kAlone) whole += time;
    waiting = fate == Fate::kWaits ? waiting + time : fate == Fate::kNew ? time : 0;
    found.all_whole = found.all_whole && rows == static_cast<std::size_t>(gpus);
    if (!first || fate == Fate::kWhole) all += time;  // a log may begin in the middle of a sweep
    first = false;
    before = span + apart[i];
    time = 0;
    rows = 1;
    span = 0;
  }
  found.pause = Quantile(pauses, 0.5);
  found.apart_usually = Quantile(found.apart, 0.5);
  const auto pause = static_cast<double>(found.pause);
  const double sweep = static_cast<double>(found.apart_usually) * (gpus - 1);
  if (all > 0 && pause > 0) found.share = whole / all * pause / (pause + sweep);
  return found;
}

// A reading that tells GPUs apart when stamps do not.
struct SweepWitness {
  std::optional<Signal> signal;  // absent: the model's name
  bool lasts;                    // one GPU does not change it back and forth from row to row
};
constexpr std::array<SweepWitness, 5> kSweepWitnesses = {{{std::nullopt, true},
                                                          {Signal::kMemoryUsed, true},
                                                          {Signal::kTemperature, true},
                                                          {Signal::kPower, false},
                                                          {Signal::kUtilization, false}}};

// Mean difference of a reading between rows n apart, at [n] for 1 to kMaxSweep. 0: too few rows.
struct Differences {
  std::array<double, kMaxSweep + 1> mean{};
  double typical = 0;       // over all of them
  std::size_t changes = 0;  // between neighbours
};

// Uses the first rows, which are enough.
Differences MeasureDifferences(const SweepWitness& witness, std::span<const Sample> rows) {
  constexpr std::size_t kRows = 1024;
  std::vector<double> values;
  for (const Sample& row : rows.first(std::min(rows.size(), kRows))) {
    if (!witness.signal) values.push_back(row.device);
    if (witness.signal && row.Has(*witness.signal)) values.push_back(static_cast<double>(row.Get(*witness.signal)));
  }
  Differences found;
  // A reading that some rows lack tells nothing about turns.
  if (values.size() < std::min(rows.size(), kRows)) return found;
  int lags = 0;
  for (std::size_t lag = 1; lag <= kMaxSweep && 3 * lag <= values.size(); ++lag, ++lags) {
    double sum = 0;
    for (std::size_t i = lag; i < values.size(); ++i) {
      const double apart = std::abs(values[i] - values[i - lag]);
      sum += witness.signal ? apart : apart > 0 ? 1 : 0;
      if (lag == 1 && apart > 0) ++found.changes;
    }
    found.mean[lag] = sum / static_cast<double>(values.size() - lag);
    found.typical += found.mean[lag];
  }
  if (lags > 0) found.typical /= lags;
  return found;
}

// Whether neighbors differ like any two rows while rows `lag` apart hardly differ: `lag` GPUs in turn. Fewer than
// three changes prove nothing.
bool TakeTurns(const Differences& d, int lag, double hardly) {
  const double next = d.mean[1];
  const double same = d.mean[static_cast<std::size_t>(lag)];
  return d.changes >= 3 && next >= 0.7 * d.typical && same <= hardly * next;
}

// Collects the evidence about one stretch of rows: stamps first, then readings. Find asks two questions: do pauses
// show several GPUs, and if not, does anything speak against one?
class Judge {
 public:
  explicit Judge(std::span<const Sample> rows) : rows_(rows), apart_(Distances(rows)) {
    const auto whole = [](const Sample& s) { return s.time.nanos() % kNanosPerSecond == 0; };
    whole_seconds_ = rows.size() >= 3 && std::all_of(rows.begin(), rows.end(), whole);
    median_ = Quantile(apart_, 0.5);
  }

  // `expected`: the number that other rows of the log show, or 0.
  SweepFinding Find(int expected) {
    SweepFinding finding;
    Sweeps best;
    // The expected number first: a later block of the same log mostly agrees.
    int gpus = expected > 1 && Show(expected, finding, best) ? expected : 1;
    for (int g = 2; gpus == 1 && !IsEven() && g <= kMaxSweep; ++g) {
      if (g != expected && Show(g, finding, best)) gpus = g;
    }
    if (gpus == 1) finding.turns = turns_ = FindTurns(rows_);
    finding.why = gpus > 1 ? WhyNotSweeps(gpus, best) : WhyNotOne();
    if (finding.why.empty()) finding.gpus = gpus;
    return finding;
  }

 private:
  // Whether nearly all distances are alike, so that there can be no sweeps of up to kMaxSweep rows.
  [[nodiscard]] bool IsEven() const {
    const std::int64_t long_one = Quantile(apart_, 1 - 1 / (2.0 * kMaxSweep));
    const auto shorter = std::count_if(apart_.begin(), apart_.end(), [&](std::int64_t d) { return 2 * d < long_one; });
    return apart_.size() >= kMaxSweep && shorter * 10 <= static_cast<std::ptrdiff_t>(apart_.size());
  }

  // Whether stamps show sweeps of that many rows. A piece between pauses has one length, so at most one number shows.
  // Few sweeps must all be whole, because with a torn one among them chance would do.
  bool Show(int gpus, SweepFinding& finding, Sweeps& sweeps) const {
    const std::size_t rows = rows_.size() / static_cast<std::size_t>(gpus);
    if (rows < 3) return false;
    sweeps = CutInto(gpus, apart_);
    finding.share[static_cast<std::size_t>(gpus)] = sweeps.share;
    return sweeps.share >= kProof && sweeps.apart_usually < kSlowQuery && (rows >= kFewSweeps || sweeps.all_whole);
  }

  // Why pauses alone do not prove sweeps; empty if they do. Equal stamps within a sweep may come from a clock that
  // ticks once per sweep.
  [[nodiscard]] std::string WhyNotSweeps(int gpus, const Sweeps& sweeps) {
    const std::int64_t within = sweeps.apart_usually;
    const bool coarse = whole_seconds_ || (within == 0 && sweeps.pause < 3 * kClockTick) || sweeps.pause < 5 * kMs;
    if (!coarse && within < kOneQuery) return {};
    Compare();
    if (StaysWithPosition(gpus)) return {};
    return coarse ? "the time stamps are too coarse to tell several GPUs from one"
                  : "rows come in groups, but too far apart for one sweep of nvidia-smi";
  }

  // Whether a reading repeats after `gpus` rows and not after a divisor of it. A reading that repeats after two rows
  // repeats after four as well, but shows two GPUs.
  [[nodiscard]] bool StaysWithPosition(int gpus) const {
    for (std::size_t w = 0; w < kSweepWitnesses.size(); ++w) {
      const Differences& d = differences_[w];
      if (!kSweepWitnesses[w].lasts || !TakeTurns(d, gpus, 0.5)) continue;
      bool smaller = false;
      for (int part = 2; part < gpus; ++part) {
        smaller = smaller || (gpus % part == 0 &&
                              d.mean[static_cast<std::size_t>(gpus)] > 0.7 * d.mean[static_cast<std::size_t>(part)]);
      }
      if (!smaller) return true;
    }
    return false;
  }

  // Measures the witnesses. Only done where stamps are not enough.
  void Compare() {
    for (const SweepWitness& witness : kSweepWitnesses) differences_.push_back(MeasureDifferences(witness, rows_));
  }

  // Why the rows may be of several GPUs; empty if they are of one. Distances are examined first, then readings.
  [[nodiscard]] std::string WhyNotOne() {
    const std::size_t n = apart_.size();
    if (n == 0) return {};
    // Rows half a second apart or more cannot be of one sweep.
    const bool slow = median_ >= kSlowQuery;
    const auto share = [&](auto&& is) {
      return static_cast<double>(std::count_if(apart_.begin(), apart_.end(), is)) / static_cast<double>(n);
    };
    if (share([](std::int64_t d) { return d == 0; }) > 0.3) {
      return "rows share time stamps, so they may come from one GPU or several";
    }
    const std::int64_t long_one = Quantile(apart_, 0.9);
    const double short_ones = share([&](std::int64_t d) { return 2 * d < long_one; });
    const bool few = n < 10;
    if (few ? !slow || *std::min_element(apart_.begin(), apart_.end()) < kSlowQuery : short_ones > 0.1) {
      return few ? "there are too few rows to tell" : "the times between rows fit neither one GPU nor equal sweeps";
    }
    const auto pauses =
        std::count_if(apart_.begin(), apart_.end(), [&](std::int64_t d) { return 2 * d > 3 * median_; });
    if (!slow && n < 16 * kMaxSweep &&
        pauses >= std::max<std::ptrdiff_t>(1, static_cast<std::ptrdiff_t>(n / kMaxSweep))) {
      return "there are too few rows to tell";
    }
    if (HasPairs()) return "some rows follow others at once, as if a GPU were missing from some sweeps";
    if (HasPattern(slow)) return "the times between rows repeat in a pattern, but not in clear sweeps";
    Compare();
    if (std::string shown = TurnsShow(slow); !shown.empty()) return shown;
    if (median_ < kOneQuery) return "rows follow each other as fast as those of several GPUs";
    return {};
  }

  // Whether some rows come too soon after others that were not late: a second GPU that only some sweeps have. A row
  // that follows a late one soon is only back in step.
  [[nodiscard]] bool HasPairs() const {
    const auto late = [&](std::size_t i) { return i < apart_.size() && 4 * apart_[i] >= 5 * median_; };
    for (std::size_t i = 0; i < apart_.size(); ++i) {
      if (2 * apart_[i] < median_ && !late(i + 1) && (i == 0 || !late(i - 1))) return true;
    }
    return false;
  }

  // Whether distances repeat after some number of rows, by autocorrelation. Jitter that stays below the grain of the
  // stamps, or below a share of the mean distance, is no pattern.
  [[nodiscard]] bool HasPattern(bool slow) const {
    const std::size_t n = apart_.size();
    double mean = 0;
    std::vector<double> d;
    for (const std::int64_t apart : apart_) {
      d.push_back(static_cast<double>(std::min(apart, 3 * median_)));
      mean += d.back() / static_cast<double>(n);
    }
    double variance = 0;
    for (double& x : d) {
      x -= mean;
      variance += x * x / static_cast<double>(n);
    }
    const double deviation = std::sqrt(variance);
    const double grain = static_cast<double>(whole_seconds_ ? kNanosPerSecond : kMs);
    if (deviation < mean * (slow ? 0.2 : 0.05) || deviation < 0.75 * grain) return false;
    // Six standard errors of an autocorrelation, and at least 0.1. Slow rows need 0.5.
    const double needed = slow ? 0.5 : std::max(0.1, 6 / std::sqrt(static_cast<double>(n)));
    for (std::size_t lag = 2; lag <= kMaxSweep && 4 * lag <= n; ++lag) {
      double together = 0;
      for (std::size_t i = lag; i < n; ++i) together += d[i] * d[i - lag];
      if (together / static_cast<double>(n - lag) > needed * variance) return true;
    }
    return false;
  }

  // The reading that alternates, for people. Empty if none does.
  [[nodiscard]] std::string TurnsShow(bool slow) const {
    if (turns_.gpus > 0) return Describe(turns_, Info(turns_.signal).name);
    for (std::size_t w = 0; w < kSweepWitnesses.size(); ++w) {
      const SweepWitness& witness = kSweepWitnesses[w];
      const bool small = witness.signal == Signal::kTemperature && differences_[w].mean[1] < kLoadWarms;
      const double hardly = !witness.signal ? 0.9 : slow ? 0.1 : witness.lasts ? 0.5 : 0.2;
      for (int lag = 2; lag <= kMaxSweep; ++lag) {
        if (3 * static_cast<std::size_t>(lag) > rows_.size()) break;
        if (!TakeTurns(differences_[w], lag, hardly)) continue;
        // Memory or temperature that continues as of one GPU refutes what a load suggests.
        if ((!witness.lasts || small) && GoesOnAsOneGpu(rows_)) break;
        const std::string column(witness.signal ? Info(*witness.signal).name : "name");
        return column + " repeats after " + std::to_string(lag) + " rows, as with several GPUs in turn" +
               (witness.lasts && witness.signal != Signal::kTemperature ? "" : ", or with one GPU under such a load");
      }
    }
    return {};
  }

  std::span<const Sample> rows_;
  std::vector<std::int64_t> apart_;
  bool whole_seconds_ = false;
  std::int64_t median_ = 0;
  std::vector<Differences> differences_;
  Turns turns_;
};

}  // namespace

std::int64_t Apart(const Sample& before, const Sample& row) {
  constexpr std::int64_t kSetBack = kNanosPerHour;
  constexpr std::int64_t kLongest = 30 * 24 * kNanosPerHour;  // longer breaks add nothing, and multiples must fit
  const std::int64_t apart = (row.time - before.time).count();
  return apart >= 0 ? std::min(apart, kLongest) : apart > -kOneQuery ? 0 : kSetBack;
}

std::vector<std::int64_t> PausesFrom(std::span<const Sample> rows, int gpus) {
  std::vector<std::int64_t> pauses = UsualPauses(Distances(rows), gpus);
  for (std::int64_t& pause : pauses) pause = std::max<std::int64_t>(1, (pause + 1) / 2);
  pauses.insert(pauses.begin(), 0);
  return pauses;
}

// The pieces of one sweep must end before the next sweep is due, and those of two sweeps before the one after: 9/10
// and 19/10 of a pause.
SweepPool::Fate SweepPool::Next(std::size_t rows, std::int64_t span, std::int64_t before, std::int64_t pause) {
  const std::size_t total = waiting_ + rows;
  elapsed_ = waiting_ > 0 ? elapsed_ + before : 0;
  const std::int64_t end = elapsed_ + span;
  const bool waited = std::exchange(waiting_, 0) > 0;
  if (rows == gpus_) return waited ? Fate::kAlone : Fate::kWhole;
  if (waited && total == gpus_ && end <= pause * 9 / 10) return Fate::kWhole;
  if (waited && total == 2 * gpus_ && end <= pause * 19 / 10) return Fate::kWhole;
  if (waited && total < 2 * gpus_ && end <= pause * 19 / 10) {
    waiting_ = total;
    return Fate::kWaits;
  }
  if (rows >= 2 * gpus_) return Fate::kNone;
  waiting_ = rows;
  elapsed_ = 0;
  return Fate::kNew;
}

SweepFinding FindSweeps(std::span<const Sample> rows, int expected) { return Judge(rows).Find(expected); }

namespace {

// How many rows are judged together, how many may wait until the number is proven, and the limits of doubt.
constexpr std::size_t kJudgedRows = 4096;
constexpr std::size_t kHeld = 16 * kJudgedRows;
constexpr std::size_t kEnoughToJudge = 512;  // rows of the last block
constexpr std::size_t kOwnPauses = 16;       // with this many sweeps, a block determines its own pause
constexpr int kOddInSuccession = 5;          // sweeps; more than chance
constexpr std::int64_t kFewOf = 20;          // one row in 20 may be dropped, and one block in 20 unclear
constexpr double kDoubt = 0.3;               // share of time in pauses of any number
constexpr double kVisible = 0.8;             // share of time in pauses that fit --gpus

std::string Gpus(int n) { return std::to_string(n) + (n == 1 ? " GPU" : " GPUs"); }

// An error at a line, with the advice that helps against all of them.
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
  return block_.rows.size() - judged_ < kJudgedRows ? Result<void>{} : TakeBlock();
}

std::vector<Sample> SweepIdentity::TakePlaced() { return std::exchange(placed_, {}); }

// Judges the rows since the last block. Once the number of GPUs is known, places them.
Result<void> SweepIdentity::TakeBlock() {
  const std::size_t from = std::exchange(judged_, block_.rows.size());
  const SweepFinding finding = FindSweeps(std::span(block_.rows).subspan(from), gpus_ <= kMaxSweep ? gpus_ : 0);
  if (blocks_++ == 0) {
    why_ = finding.why;
    // The user's number, where the stamps show no sweeps of that many rows: rows are then dealt out in turn.
    by_count_ = gpus_ > 1 && (gpus_ > kMaxSweep || finding.share[static_cast<std::size_t>(gpus_)] < kVisible);
    if (by_count_ && finding.turns.gpus > 0) order_.emplace(finding.turns, gpus_);
  }
  unclear_ += finding.gpus == 0 ? 1 : 0;
  // Placing cannot check a single GPU, so nothing may speak against it.
  const double most = *std::max_element(finding.share.begin(), finding.share.end());
  const bool doubted = !said_ && gpus_ == 1 && finding.gpus == 0 && most > kDoubt;
  if (doubted) return Refuse(block_.lines[from], finding.why);
  // A block that shows one GPU behind one that showed nothing is no proof for the first.
  if (gpus_ == 0 && finding.gpus == 1 && unclear_ > 0) return Refuse(block_.lines.front(), why_);
  if (gpus_ == 0) gpus_ = finding.gpus;
  if (gpus_ > 0 && !pool_) pool_.emplace(static_cast<std::size_t>(gpus_));
  if (gpus_ == 0) {
    return block_.rows.size() < kHeld ? Result<void>{} : Refuse(block_.lines.front(), why_);
  }
  TRY(CheckAgrees(finding, block_.lines[from]));
  return Place();
}

// Fails if a block contradicts --gpus or the blocks before it. A block that proves nothing agrees with any number.
Result<void> SweepIdentity::CheckAgrees(const SweepFinding& finding, std::int64_t line) const {
  if (said_ && *said_ > 1 && finding.turns.gpus > 0 && *said_ % finding.turns.gpus != 0) {
    return Fail(
        fmt::format("{}: --gpus {} contradicts the readings: {}; give the right number, or record index and uuid", line,
                    *said_, Describe(finding.turns, Info(finding.turns.signal).name)));
  }
  if (finding.gpus == 0 || finding.gpus == gpus_) return {};
  if (!said_) {
    return Refuse(line,
                  "the rows from here on come from " + Gpus(finding.gpus) + ", the rows before from " + Gpus(gpus_));
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

// Per row, the distance from the previous row at which a new sweep begins.
std::vector<std::int64_t> SweepIdentity::BlockPauses() const {
  const std::vector<Sample>& rows = block_.rows;
  const auto gpus = static_cast<std::size_t>(gpus_);
  if (rows.size() < kOwnPauses * gpus && pause_ > 0) return std::vector<std::int64_t>(rows.size(), pause_);
  if (!by_count_) return PausesFrom(rows, gpus_);
  // Without visible sweeps, only a distance much longer than a sweep shows missing rows.
  std::vector<std::int64_t> sweeps;
  for (std::size_t i = gpus; i < rows.size(); ++i) sweeps.push_back(Apart(rows[i - gpus], rows[i]));
  if (sweeps.empty()) return std::vector<std::int64_t>(rows.size(), kNanosPerHour);
  const auto middle = sweeps.begin() + static_cast<std::ptrdiff_t>(sweeps.size() / 2);
  std::nth_element(sweeps.begin(), middle, sweeps.end());
  return std::vector<std::int64_t>(rows.size(), *middle * 3 / 2 + kNanosPerSecond);
}

// Cuts the block at its pauses and emits whole sweeps. A single GPU needs no cutting: every row is a sweep.
Result<void> SweepIdentity::Place() {
  const std::vector<std::int64_t> pauses = gpus_ == 1 ? std::vector<std::int64_t>() : BlockPauses();
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

// Ends the current piece. `pause`: the usual pause. A piece with up to twice as many rows close together is
// remembered: at either end of the log it shows a GPU that the other sweeps lack (RefuseMore).
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

// Extra rows in the first or last sweeps show a GPU that other sweeps lack. In between, they may be a sweep so late
// that the next one followed at once.
Result<void> SweepIdentity::RefuseMore() const {
  return Refuse(more_line_, "the sweep that begins here has " + std::to_string(more_rows_) +
                                " rows, other sweeps have " + std::to_string(gpus_));
}

// Delivers a whole sweep. Fails if its model names or its order do not match the sweeps before.
Result<void> SweepIdentity::Emit(Piece& sweep) {
  if (order_ && !order_->Keeps(sweep.rows)) {
    return Fail(
        fmt::format("{}: {} shows that the GPUs changed places just before, as if a row were missing; record index and "
                    "uuid, or audit the rows before and after as two logs",
                    sweep.lines.front(), Info(order_->signal()).name));
  }
  for (std::size_t i = 0; i < sweep.rows.size(); ++i) {
    Sample& row = sweep.rows[i];
    const std::size_t position = i % static_cast<std::size_t>(gpus_);
    // The first sweep names the positions; a position without a name takes the first one that comes.
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

// Drops an incomplete sweep. Fails after several equal ones in succession, because a GPU was then lost or added.
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
  return Refuse(odd_line_,
                "sweeps from here on do not have " + std::to_string(gpus_) +
                    " rows like the others: a GPU was lost or added; audit the rows before this line separately");
}

// Judges the last rows if they are enough, places them, and drops a sweep that the end of the log cut off. Then fails
// if too many blocks were unclear or too many rows were dropped.
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
