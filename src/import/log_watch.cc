#include "import/log_watch.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "import/metric_table.h"
#include "telemetry/sample.h"
#include "text/strings.h"

namespace idleburn {

// The watches decide at the end of a log, because a few odd rows prove nothing.

namespace {

// Whether two values differ by at most `percent` of the larger one.
bool Within(std::int64_t a, std::int64_t b, std::int64_t percent) {
  return std::abs(a - b) <= std::max(a, b) / 100 * percent;
}

// The signal's value, absent if the sample has none.
std::optional<std::int64_t> Value(const Sample& sample, Signal signal) {
  return sample.Has(signal) ? std::optional(sample.Get(signal)) : std::nullopt;
}

}  // namespace

// A sweep ends with a row of the highest index. What a lower index shows after that row is kept apart from what it
// showed before, until the next such row. At the end of the log the two tell whether a GPU was lost.
void IndexWatch::OnSample(const Sample& sample, std::int64_t line) {
  const std::optional<int> index = devices_[sample.device].index;
  if (!index) return;
  const auto at = static_cast<std::size_t>(*index);
  if (at >= known_.size()) OnNewHighest(*index, sample.time, line);
  Known& known = known_[at];
  if (known.sweep != sweep_) {
    known.sweep = sweep_;
    known.rows_after = 0;
    known.memory_before = known.memory;
    known.memory_after.reset();
  }
  if (++known.rows == kSurely) known.surely = sample.time;
  known.last = std::max(known.last, sample.time);
  if (const auto used = Value(sample, Signal::kMemoryUsed)) known.memory = used;
  if (const auto total = Value(sample, Signal::kMemoryTotal)) CheckTotal(known, *total, *index, line);
  if (at + 1 < known_.size()) return OnLower(known, sample.time, line);
  ++sweep_;
  last_of_highest_ = std::max(last_of_highest_, sample.time);
  line_after_ = 0;
}

// While the highest index keeps appearing, only the last sweeps matter; earlier rows are skipped.
void IndexWatch::OnColumns(const SampleColumns& rows, std::int64_t line) {
  const auto is_highest = [&](std::size_t row) {
    return devices_[rows.devices[row]].index == static_cast<int>(known_.size()) - 1;
  };
  // Two sweeps before the last row of the highest index are enough to know what each index showed there.
  std::size_t from = rows.rows;
  while (from > 0 && !is_highest(from - 1)) --from;
  from -= std::min(from, 2 * known_.size());
  Sample sample;
  for (std::size_t row = from; row < rows.rows; ++row) {
    rows.Get(row, sample);
    OnSample(sample, line + static_cast<std::int64_t>(row));
  }
}

// An index that appears after other GPUs were read for a while means that a GPU came back. Indices that appear in the
// first sweeps are only seen for the first time.
void IndexWatch::OnNewHighest(int index, Instant time, std::int64_t line) {
  const bool late =
      std::any_of(known_.begin(), known_.end(), [&](const Known& k) { return k.rows >= kSurely && k.surely < time; });
  if (late && came_.line == 0) came_ = {line, index, time};
  known_.resize(static_cast<std::size_t>(index) + 1);
}

// Counts rows of lower indices after the last row of the highest one.
void IndexWatch::OnLower(Known& known, Instant time, std::int64_t line) {
  if (time <= last_of_highest_) return;
  if (line_after_ == 0) line_after_ = line;
  if (++known.rows_after == kSurely) known.memory_after = known.memory;
}

// The memory size of a board varies little, by what the driver reserves. A size that another index had means another
// board.
void IndexWatch::CheckTotal(Known& known, std::int64_t total, int index, std::int64_t line) {
  if (!known.total) known.total = total;
  if (Within(*known.total, total, 10) || other_board_.line > 0) return;
  const bool of_another = std::any_of(known_.begin(), known_.end(),
                                      [total](const Known& k) { return k.total && Within(*k.total, total, 2); });
  if (of_another) other_board_ = {line, index, {}};
}

// Whether another GPU was read before the highest index was last read, and long after.
bool IndexWatch::Lost() const {
  return std::any_of(known_.begin(), known_.end(), [&](const Known& k) {
    return k.sweep == sweep_ && k.rows_after >= kSurely && k.rows > k.rows_after;
  });
}

// Whether an index appeared late while a lower one was read before and after. Each GPU behind the one that came back
// then has a new index.
bool IndexWatch::Came() const {
  return came_.line > 0 && std::any_of(known_.begin(), known_.end() - 1, [&](const Known& k) {
           return k.rows >= kSurely && k.surely < came_.time && k.last > came_.time;
         });
}

// If a GPU before the last one had been lost, its index would now show the last GPU's memory. If the second-to-last
// index still shows its own memory, and that differs clearly from the last GPU's, only the last GPU was lost. With
// equal memory nothing is proven, and the log is refused.
bool IndexWatch::OthersStayed() const {
  if (known_.size() < 2) return false;
  const Known& highest = known_.back();
  const Known& before = known_[known_.size() - 2];
  return before.sweep == sweep_ && highest.memory && before.memory_before && before.memory_after &&
         Within(*before.memory_before, *before.memory_after, 2) && !Within(*before.memory_before, *highest.memory, 10);
}

Result<void> IndexWatch::Verdict(const std::string& file) const {
  const auto refuse = [&](std::int64_t line, int index, const std::string& what) {
    return Fail(file + ":" + std::to_string(line) + ": GPU " + std::to_string(index) + what +
                ": the GPU indices may have changed, and no other column tells the GPUs apart; audit the rows before "
                "this line separately, and record uuid");
  };
  if (other_board_.line > 0)
    return refuse(other_board_.line, other_board_.index, " has the memory size here that another GPU had before");
  if (Came()) return refuse(came_.line, came_.index, " is missing from the rows before, where other GPUs are");
  if (known_.empty() || !Lost() || OthersStayed()) return {};
  return refuse(line_after_, static_cast<int>(known_.size()) - 1,
                " is missing from the rows from here on, where other GPUs are");
}

namespace {

Result<void> RefuseMisfits(const MisfitRun& run, const std::string& file) {
  return Fail(file + ":" + std::to_string(run.line) + ": the columns change here without a header: the row " + run.why +
              "; split the file where they change and give each part its own header");
}

}  // namespace

// Blocks of a log are parsed apart, so a run may arrive in pieces. Pieces with no good row between them are one run.
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

// Long runs first, then a log that ends in one, then misfits that are spread but frequent.
Result<void> MisfitRows::Verdict(std::int64_t good_rows, const std::string& file) const {
  if (long_) return RefuseMisfits(*long_, file);
  if (last_.count >= kSurely && last_.good_before == good_rows) return RefuseMisfits(last_, file);
  for (const auto& [cells, all] : by_cells_) {
    if (all.count >= kSurely && all.count > (good_rows + all.count) / kFewOf) return RefuseMisfits(all, file);
  }
  return {};
}

namespace {

// Signals that are percentages.
constexpr std::uint32_t kShares = Bit(Signal::kUtilization) | Bit(Signal::kMemoryUtilization) |
                                  Bit(Signal::kEncoderUtilization) | Bit(Signal::kDecoderUtilization) |
                                  Bit(Signal::kGrEngineActive);

// Sources that write "%" beside the values or in the column name, so their scale is certain.
constexpr std::string_view kUnitWritten[] = {
    "nvidia_smi.", "nvidia_smi_xml.", "nvidia_smi_dmon.", "nvidia_smi_pmon.", "nvidia_smi_compute_apps.",
    "rocm_smi.",   "dcgmi."};
// Columns that the user named; ColumnScale checks their unit.
constexpr std::string_view kColumns[] = {"csv.", "parquet."};

template <std::size_t kCount>
bool StartsWithOneOf(const std::string_view (&prefixes)[kCount], std::string_view name) {
  return std::any_of(std::begin(prefixes), std::end(prefixes),
                     [name](std::string_view prefix) { return name.starts_with(prefix); });
}

// The field without its source: "GPU use (%)" of "rocm_smi.GPU use (%)".
std::string_view FieldName(std::string_view counter) { return counter.substr(counter.find('.') + 1); }

}  // namespace

// Looks up what is known about a field: from the metric table, its source, and --unit.
PercentGuard::Field PercentGuard::Describe(const std::string& counter, Signal signal) const {
  Field field;
  const Metric* metric = FindCounter(counter);
  field.percent = metric != nullptr ? metric->scale == Scale::kPercentage
                                    : signal != Signal::kGrEngineActive && !StartsWithOneOf(kColumns, counter);
  field.unit_written = StartsWithOneOf(kUnitWritten, counter);
  auto said = options_.units.find(std::string(FieldName(counter)));
  if (said == options_.units.end()) said = options_.units.find("");
  field.said = said != options_.units.end();
  field.ratio = field.percent && field.said && said->second == PercentUnit::kOne;
  return field;
}

// The field behind a device's signal. Board values of MIG instances are kept with the board (DeviceTable::Home).
PercentGuard::Field& PercentGuard::FindField(DeviceId device, Signal signal) {
  const std::string& counter = devices_[devices_.Home(device, signal)].counter[Index(signal)];
  const auto known = fields_.find(counter);
  return known != fields_.end() ? known->second : fields_.emplace(counter, Describe(counter, signal)).first->second;
}

// A field above 1 % is certainly a percentage, so the signal of that device needs no further look. Most rows then
// cost one comparison of bits.
bool PercentGuard::See(const Sample& sample, Signal signal) {
  Field& field = FindField(sample.device, signal);
  const std::int64_t value = sample.Get(signal);
  field.fraction = field.fraction || value % kPercent != 0;
  field.most = std::max(field.most, value);
  const bool settled = !field.ratio && (!field.percent || field.most > kPercent);
  if (settled) settled_[sample.device] |= Bit(signal);
  return field.ratio;
}

// Copies the samples only if one must change, which is rare.
void PercentGuard::OnSamples(std::span<const Sample> samples) {
  bool changed = false;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Sample& sample = samples[i];
    if (sample.device >= settled_.size()) settled_.resize(sample.device + 1, ~kShares);
    for (std::uint32_t open = sample.present & ~settled_[sample.device]; open != 0; open &= open - 1) {
      const auto signal = static_cast<Signal>(std::countr_zero(open));
      if (!See(sample, signal)) continue;
      if (!changed) changed_.assign(samples.begin(), samples.end());
      changed = true;
      SetInRange(signal, static_cast<Int128>(sample.Get(signal)) * 100, changed_[i]);
    }
  }
  next_.OnSamples(changed ? std::span<const Sample>(changed_) : samples);
}

Result<void> PercentGuard::Check(const std::string& file, DataQuality& quality) const {
  for (const auto& [counter, field] : fields_) {
    const std::string name = Printable(FieldName(counter));
    if (field.ratio && field.most > kPercent + kPercent / 200) {
      return Fail(file + ": " + name + " exceeds 1, so it is not a ratio; use --unit NAME=ratio for ratios only");
    }
    if (!field.percent || field.said || field.most > kPercent) continue;
    if (field.fraction) {
      return Fail(file + ": " + name + " has fractions and never exceeds 1: ratio or percent? Say --unit ratio or " +
                  "--unit percent");
    }
    if (field.most == kPercent && !field.unit_written) {
      quality.CountNamed(QualityId::kScaleUnproven, name, {&file, 0});
    }
  }
  return {};
}

}  // namespace idleburn
