#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/int128.h"
#include "import/device_facts.h"
#include "import/formats.h"
#include "import/metric_readings.h"
#include "import/metric_table.h"
#include "import/printed_values.h"
#include "import/tool_readers.h"
#include "telemetry/sample.h"
#include "text/line_reader.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {

// The two outputs of dcgmi: `stats`, a table of averages per job, and `dmon`, rows of current values. Neither is meant
// for programs, so both are recognized by their printed form.

namespace {

// Fixed words of the printed tables.
constexpr std::string_view kJobMark = "for job:";
constexpr std::string_view kGpuMark = "GPU ID:";
constexpr std::string_view kStart = "Execution Stats/Start Time";
constexpr std::string_view kEnd = "Execution Stats/End Time";
constexpr std::string_view kDuration = "Execution Stats/Total Execution Time (sec)";
constexpr std::string_view kXidErrors = "Event Stats/Critical XID Errors";
constexpr std::string_view kEnergy = "Performance Stats/Energy Consumed (Joules)";
constexpr std::string_view kProcessSection = "Compute Process Utilization";

// Where a signal is found in a table of dcgmi stats.
struct StatsField {
  Signal signal;
  std::string_view path;
  std::string_view figure;  // figure of the cell, or "" for the whole cell
  std::string_view unit;
  std::string_view counter;
};
constexpr std::array<StatsField, 6> kStatsFields = {{
    {Signal::kUtilization, "Performance Stats/SM Utilization (%)", "Avg", "%", "dcgmi.sm_utilization_avg"},
    {Signal::kMemoryUtilization, "Performance Stats/Memory Utilization (%)", "Avg", "%",
     "dcgmi.memory_utilization_avg"},
    {Signal::kPower, "Performance Stats/Power Usage (Watts)", "Avg", "W", "dcgmi.power_usage_avg"},
    {Signal::kSmClock, "Performance Stats/SM Clock (MHz)", "Avg", "MHz", "dcgmi.sm_clock_avg"},
    {Signal::kMemoryUsed, "Performance Stats/Max GPU Memory Used (bytes)", "", "B", "dcgmi.max_gpu_memory_used"},
    {Signal::kProcesses, "Execution Stats/No. of Processes", "", "", "dcgmi.no_of_processes"},
}};

// The text without the characters of `any_of` at both ends.
std::string_view Strip(std::string_view text, std::string_view any_of) {
  const std::size_t first = text.find_first_not_of(any_of);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(any_of) - first + 1);
}

// Turns tables into samples. It collects the jobs of all GPUs first, because tables come in order of jobs and GPUs,
// while samples of a GPU must be in time order. Memory grows with jobs, not with their length.
class StatsMapper {
 public:
  StatsMapper(const ByteSource& in, const ImportOptions& options, ImportTarget& out)
      : out_(out), file_(in.name()), clock_(options, out.quality, file_) {}

  // Adds one table: a job on a GPU.
  void Map(const DcgmiGpu& gpu) {
    place_ = {&file_, gpu.line};
    const std::optional<std::int64_t> id = ParseInteger(gpu.id);
    const std::optional<Instant> start = ReadStart(gpu);
    if (!id || *id < 0 || *id > INT32_MAX || !start) {
      out_.quality.Count(QualityId::kBadRow, place_);
      return;
    }
    CountUnknown(gpu);
    DeviceKey key;
    key.index = static_cast<int>(*id);
    JobSpan span;
    span.means.time = *start;
    span.means.device = EnterDevice(key, out_, place_);
    Read(gpu, &span.means);
    out_.quality.Count(QualityId::kJobResolution, place_);
    // A job that ends before it starts counts as a moment.
    span.end = std::max(ReadEnd(gpu, *start), *start);
    ReadEnergy(gpu, span.end - *start, &span.means);
    const DeviceId device = span.means.device;
    if (!gpu.job.empty()) out_.owners.Add(device, {"job " + gpu.job}, *start, span.end);
    if (ParseInteger(gpu.leaves.Get(kXidErrors)).value_or(0) > 0) out_.quality.Count(QualityId::kXidSeen, place_);
    jobs_[device].push_back(std::move(span));
  }

  // Delivers, per GPU, the averages from the start of each job to its end, and no data between jobs.
  void Finish() {
    for (auto& [device, jobs] : jobs_) Deliver(device, jobs);
  }

 private:
  // A job on one GPU: its averages, and how long they hold.
  struct JobSpan {
    Sample means;  // from its time on
    Instant end;
  };

  // Delivers a sample at each edge, where a job begins or ends. If jobs overlap, the averages of the one that began
  // last are closest to what happened. Between jobs, every signal that any job has is marked as a gap, so that the
  // averages of the job before do not hold on.
  void Deliver(DeviceId device, std::vector<JobSpan>& jobs) {
    std::stable_sort(jobs.begin(), jobs.end(),
                     [](const JobSpan& a, const JobSpan& b) { return a.means.time < b.means.time; });
    // The times at which something begins or ends, each once.
    std::set<Instant> edges;
    std::uint32_t told = 0;  // signals of any job
    for (const JobSpan& job : jobs) {
      edges.insert({job.means.time, job.end});
      told |= job.means.present | job.means.unavailable;
    }
    std::size_t begun = 0;
    std::vector<std::size_t> running;  // ended jobs are removed from the back
    for (const Instant edge : edges) {
      // Jobs are in order of their start, so the last of `running` began last.
      for (; begun < jobs.size() && jobs[begun].means.time <= edge; ++begun) running.push_back(begun);
      while (!running.empty() && jobs[running.back()].end <= edge) running.pop_back();
      Sample sample;
      if (!running.empty()) sample = jobs[running.back()].means;
      sample.time = edge;
      sample.device = device;
      for (const SignalInfo& signal : kSignals) {
        const bool lacks = (told & ~(sample.present | sample.unavailable) & Bit(signal.id)) != 0;
        if (lacks) sample.SetUnavailable(signal.id, Unobserved::kGap);
      }
      out_.sink.OnSamples({&sample, 1});
    }
  }

  // The job's start. Absent if it cannot be read. A job without a start ("N/A") that has a duration still has costs.
  // It is placed at the start of 1970 and counted.
  std::optional<Instant> ReadStart(const DcgmiGpu& gpu) {
    const std::string_view text = gpu.leaves.Get(kStart);
    if (const std::optional<CivilTime> stamp = ParseCtime(text)) return clock_.At(*stamp, false, gpu.line);
    if (!WhyUnavailable(text) || !gpu.leaves.Find(kDuration)) return std::nullopt;
    out_.quality.Count(QualityId::kNoTimestamp, place_);
    return Instant();
  }

  // The job's end. A running job has none yet, but its duration so far is known. The start if neither can be read.
  Instant ReadEnd(const DcgmiGpu& gpu, Instant start) {
    if (const std::optional<CivilTime> stamp = ParseCtime(gpu.leaves.Get(kEnd))) {
      const Instant end = clock_.At(*stamp, false, gpu.line);
      if (end < start) out_.quality.Count(QualityId::kOutOfOrder, place_);
      return end;
    }
    const ScaledNumber seconds = ParseScaled(gpu.leaves.Get(kDuration), 9);
    return seconds.fault == NumberFault::kNone && seconds.value > 0 && seconds.value < kLongest
               ? start + Nanos(seconds.value)
               : start;
  }
  static constexpr std::int64_t kLongest = 100 * 366 * 24 * kNanosPerHour;

  // Fills the sample from the table. Where a cell has figures, its average counts.
  void Read(const DcgmiGpu& gpu, Sample* sample) {
    for (const StatsField& field : kStatsFields) {
      const std::optional<std::string_view> cell = gpu.leaves.Find(field.path);
      if (!cell) continue;
      const std::string_view text = field.figure.empty() ? *cell : Figure(*cell, field.figure).value_or(*cell);
      if (!PutQuantity(field.signal, text, field.unit, sample, out_.quality, place_)) continue;
      out_.devices.NameCounter(sample->device, field.signal, field.counter);
    }
  }

  // Energy over time is the mean power. It is more exact than the mean of power readings, and is there even without
  // them.
  void ReadEnergy(const DcgmiGpu& gpu, Nanos time, Sample* sample) {
    const std::optional<std::string_view> cell = gpu.leaves.Find(kEnergy);
    if (!cell || WhyUnavailable(*cell) || time == Nanos(0)) return;
    const Quantity energy = ReadQuantity(*cell, Info(Signal::kEnergy).unit, "J");
    std::optional<std::int64_t> power;
    if (energy.value) {
      power =
          InRange(Unit::kMilliwatt, DivHalfEven(static_cast<Int128>(*energy.value) * kNanosPerSecond, time.count()));
    }
    if (!power) return out_.quality.Count(energy.value ? QualityId::kOutOfRange : energy.issue, place_);
    sample->unavailable &= ~Bit(Signal::kPower);
    sample->Set(Signal::kPower, *power);
    out_.devices.NameCounter(sample->device, Signal::kPower, "dcgmi.energy_consumed");
  }

  // Counts rows that are not used, for the first GPU of an input. The others repeat them.
  void CountUnknown(const DcgmiGpu& gpu) {
    if (std::exchange(counted_, true)) return;
    for (const auto& [path, text] : gpu.leaves.all()) {
      const std::string_view name = path;
      const auto is = [&](const StatsField& field) { return field.path == name; };
      const bool used = std::any_of(kStatsFields.begin(), kStatsFields.end(), is) || name == kStart || name == kEnd ||
                        name == kDuration || name == kXidErrors || name == kEnergy;
      if (!used) out_.quality.CountNamed(QualityId::kUnknownColumn, name, place_);
    }
  }

  ImportTarget& out_;
  std::string file_;
  StampClock clock_;
  Place place_;
  bool counted_ = false;
  std::map<DeviceId, std::vector<JobSpan>> jobs_;
};

}  // namespace

std::optional<std::string_view> Figure(std::string_view cell, std::string_view name) {
  while (!cell.empty()) {
    const std::size_t comma = std::min(cell.find(','), cell.size());
    const std::string_view part = cell.substr(0, comma);
    const std::size_t colon = part.find(':');
    if (colon != std::string_view::npos && Trim(part.substr(0, colon)) == name) return Trim(part.substr(colon + 1));
    cell.remove_prefix(std::min(comma + 1, cell.size()));
  }
  return std::nullopt;
}

DcgmiReader::DcgmiReader(ByteSource& in, DataQuality& quality) : lines_(in), quality_(quality) {}

Result<bool> DcgmiReader::Next(DcgmiGpu* gpu) {
  std::string_view line;
  while (!done_) {
    const Result<bool> more = lines_.Next(&line);
    if (!more) return more;
    if (!*more) break;
    if (!Trim(line).empty()) TakeLine(Trim(line));
  }
  if (!done_ && open_) {
    if (!closed_) quality_.Count(QualityId::kTornRow, {&lines_.name(), lines_.number()});
    done_ = std::exchange(open_, std::nullopt);
  }
  if (done_) {
    *gpu = *std::exchange(done_, std::nullopt);
    any_ = true;
    return true;
  }
  if (any_) return false;
  return Fail(lines_.name() + ": no table with a GPU ID; expected the output of dcgmi stats -v -j JOB");
}

// Takes one line: a job's name, a border, a title or a cell. A table ends where the next one begins, so it is only
// complete then.
void DcgmiReader::TakeLine(std::string_view line) {
  if (const std::size_t at = line.find(kJobMark); at != std::string_view::npos && line.front() != '|') {
    job_ = Strip(line.substr(at + kJobMark.size()), " .");
    return;
  }
  if (line.front() != '|' && line.front() != '+') return;
  // A border, which may hold a title: "+-----  Event Stats  ---+---+".
  closed_ = false;
  if (line.size() > 1 && (line[1] == '-' || line[1] == '=')) {
    const std::string_view title = Strip(line, "|+-= ");
    closed_ = title.empty() && line.back() == '+';
    if (!title.empty()) section_ = title;
    group_.clear();
    return;
  }
  // A row without its right border was cut off, or is no row.
  if (line.size() < 2 || line.back() != '|') {
    quality_.Count(lines_.terminated() ? QualityId::kBadRow : QualityId::kTornRow, {&lines_.name(), lines_.number()});
    return;
  }
  const std::string_view inner = line.substr(1, line.size() - 2);
  // A row with two cells holds a value. One with a single cell begins a table or names a section.
  const std::size_t bar = inner.find('|');
  const std::string_view key = Trim(inner.substr(0, bar));
  if (bar != std::string_view::npos) return TakeCell(key, Trim(inner.substr(bar + 1)));
  if (key.substr(0, kGpuMark.size()) != kGpuMark) {
    section_ = key;
    return;
  }
  done_ = std::exchange(open_, DcgmiGpu());
  open_->job = job_;
  open_->id = Trim(key.substr(kGpuMark.size()));
  open_->line = lines_.number();
  section_.clear();
}

// Files one cell under its section. Keys such as "- Thermal (%)" continue the key above them, whose words are put
// before.
void DcgmiReader::TakeCell(std::string_view key, std::string_view value) {
  constexpr std::size_t kMaxKept = 1000;  // rows of a table, and processes
  if (!open_ || open_->leaves.all().size() >= kMaxKept || open_->processes.size() >= kMaxKept) {
    quality_.Count(QualityId::kBadRow, {&lines_.name(), lines_.number()});
    return;
  }
  if (section_ == kProcessSection) {
    // Each process begins with its PID.
    if (key == "PID") open_->processes.emplace_back();
    if (!open_->processes.empty()) open_->processes.back().Add(std::string(key), value);
    return;
  }
  std::string full(key);
  // "Due to - Power (%)" is followed by "- Thermal (%)", which belongs to "Due to" as well.
  if (const std::size_t dash = key.find("- "); dash == 0 && !group_.empty()) {
    full = group_ + " " + full;
  } else if (dash != std::string_view::npos) {
    group_ = Trim(key.substr(0, dash));
  }
  open_->leaves.Add(section_ + "/" + full, value);
}

bool SniffDcgmiStats(std::string_view head) {
  const std::size_t gpu = head.find(kGpuMark);
  return gpu != std::string_view::npos && head.find("Execution Stats", gpu) != std::string_view::npos &&
         head.find("+---") != std::string_view::npos;
}

Result<void> ImportDcgmiStats(ByteSource& in, const ImportOptions& options, ImportTarget& out) {
  DcgmiReader reader(in, out.quality);
  StatsMapper mapper(in, options, out);
  DcgmiGpu gpu;
  while (true) {
    const bool more = TRY(reader.Next(&gpu));
    if (!more) break;
    mapper.Map(gpu);
  }
  mapper.Finish();
  return {};
}

namespace {

// DCGM's short names of fields (DcgmFieldGetById(...)->valueFormat->shortName) and the metric names of exporters.
struct ShortName {
  std::string_view column;
  std::string_view metric;
};
constexpr ShortName kShortNames[] = {
    {"SMCLK", "DCGM_FI_DEV_SM_CLOCK"},
    {"SMMAX", "DCGM_FI_DEV_MAX_SM_CLOCK"},
    {"DVCCTR", "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS"},
    {"TMPTR", "DCGM_FI_DEV_GPU_TEMP"},
    {"POWER", "DCGM_FI_DEV_POWER_USAGE"},
    {"POWINST", "DCGM_FI_DEV_POWER_USAGE_INSTANT"},
    {"PMDEF", "DCGM_FI_DEV_POWER_MGMT_LIMIT_DEF"},
    {"EPLMT", "DCGM_FI_DEV_ENFORCED_POWER_LIMIT"},
    {"TOTEC", "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"},
    {"GPUTL", "DCGM_FI_DEV_GPU_UTIL"},
    {"MCUTL", "DCGM_FI_DEV_MEM_COPY_UTIL"},
    {"FBTTL", "DCGM_FI_DEV_FB_TOTAL"},
    {"FBFRE", "DCGM_FI_DEV_FB_FREE"},
    {"FBUSD", "DCGM_FI_DEV_FB_USED"},
    {"GRACT", "DCGM_FI_PROF_GR_ENGINE_ACTIVE"},
    {"SMACT", "DCGM_FI_PROF_SM_ACTIVE"},
    {"TENSO", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"},
    {"DRAMA", "DCGM_FI_PROF_DRAM_ACTIVE"},
    {"PCITX", "DCGM_FI_PROF_PCIE_TX_BYTES"},
    {"PCIRX", "DCGM_FI_PROF_PCIE_RX_BYTES"},
    {"NVLTX", "DCGM_FI_PROF_NVLINK_TX_BYTES"},
    {"NVLRX", "DCGM_FI_PROF_NVLINK_RX_BYTES"},
};

// The metric of a column, whose unit and type then apply. Null if unknown.
const Metric* FindColumnMetric(std::string_view column) {
  const auto* const found = std::find_if(std::begin(kShortNames), std::end(kShortNames),
                                         [column](const ShortName& row) { return row.column == column; });
  return found == std::end(kShortNames) ? nullptr : FindMetric(found->metric);
}

// The words of a line, separated by blanks or tabs.
std::vector<std::string_view> Words(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    line = Trim(line);
    if (line.empty()) return words;
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

// The column names of a header line: "#Entity  GPUTL  POWER", in older versions "# Entity  GPUTL  POWER". Empty for any
// other line.
std::vector<std::string_view> Header(std::string_view line) {
  std::vector<std::string_view> words = Words(line);
  if (words.size() > 1 && words[0] == "#" && words[1] == "Entity") words.erase(words.begin());
  if (words.empty() || (words[0] != "#Entity" && words[0] != "Entity") || Trim(line).front() != '#') return {};
  words.erase(words.begin());
  return words;
}

// Reads rows of dcgmi dmon and feeds them to MetricReadings. The rows carry no times: a sweep ends where a GPU
// repeats, and sweep n lies n periods after --start. Wrong if dcgmi skipped sweeps while it ran; later times are then
// too early.
class DcgmiDmon {
 public:
  DcgmiDmon(ByteSource& in, const ImportOptions& options, ImportTarget& out)
      : lines_(in), options_(options), out_(out), writer_(out), readings_(out, writer_) {}

  Result<void> Run() {
    if (!options_.start || !options_.period) {
      return Fail(lines_.name() +
                  ": dcgmi dmon prints no times; give --start (time of the first row) and --period (time between two "
                  "rows of a GPU), such as --start 2026-07-03T22:22:01Z --period 1s");
    }
    std::string_view line;
    while (true) {
      const bool more = TRY(lines_.Next(&line));
      if (!more) break;
      ReadLine(line);
    }
    readings_.Finish();
    if (any_) return {};
    return Fail(lines_.name() + ": no row of a GPU has a known field; record dcgmi dmon -e 203,155,252,1002");
  }

 private:
  [[nodiscard]] Place Here() const { return {&lines_.name(), lines_.number()}; }

  // Reads a header, a line of units, or a row. Rows of other entities are counted and not used.
  void ReadLine(std::string_view line) {
    if (Trim(line).empty()) return;
    if (const std::vector<std::string_view> names = Header(line); !names.empty()) return SetColumns(names);
    const std::vector<std::string_view> words = Words(line);
    if (words[0] == "ID" || words[0] == "Id") return;  // the line of units, which the fields determine
    const std::optional<std::int64_t> id = words.size() > 1 ? ParseInteger(words[1]) : std::nullopt;
    const bool entity = id && *id >= 0 && *id <= kMostIds;
    if (entity && words[0] != "GPU") {  // a MIG instance, a switch, a CPU
      return out_.quality.CountNamed(QualityId::kUnknownColumn, "rows of " + Printable(words[0]), Here());
    }
    if (!entity || words.size() != columns_.size() + 2) {
      return out_.quality.Count(lines_.terminated() ? QualityId::kBadRow : QualityId::kTornRow, Here());
    }
    // A number that is cut off would be a different number.
    if (!lines_.terminated()) return out_.quality.Count(QualityId::kTornRow, Here());
    ReadRow(static_cast<int>(*id), words);
  }

  // Binds the columns of a header. Headers repeat, and an unknown name is counted once.
  void SetColumns(const std::vector<std::string_view>& names) {
    columns_.clear();
    for (const std::string_view name : names) {
      columns_.push_back(FindColumnMetric(name));
      if (columns_.back() == nullptr && unknown_.insert(std::string(name)).second) {
        out_.quality.CountNamed(QualityId::kUnknownColumn, Printable(name), Here());
      }
    }
  }

  // Reads the fields of a GPU's row at the time of its sweep.
  void ReadRow(int id, const std::vector<std::string_view>& words) {
    // This GPU had a row in the sweep already, so the next sweep begins with it.
    if (!sweep_.insert(id).second) {
      sweep_ = {id};
      ++sweeps_;
    }
    std::int64_t since = 0;
    if (__builtin_mul_overflow(sweeps_, options_.period->count(), &since) || since > kLongest) {
      return out_.quality.Count(QualityId::kBadRow, Here());
    }
    DeviceKey key;
    key.index = id;
    const DeviceId device = EnterDevice(key, out_, Here());
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i] == nullptr) continue;
      any_ = true;
      readings_.Add(*columns_[i], device, 0, *options_.start + Nanos(since), words[i + 2], Here());
    }
  }

  static constexpr std::int64_t kMostIds = 4096;
  static constexpr std::int64_t kLongest = 20 * 366 * 24 * kNanosPerHour;

  LineReader lines_;
  const ImportOptions& options_;
  ImportTarget& out_;
  ReadingWriter writer_;
  MetricReadings readings_;
  std::vector<const Metric*> columns_;  // after the entity; null: unknown
  std::set<std::string> unknown_;
  std::set<int> sweep_;  // GPUs of the current sweep
  std::int64_t sweeps_ = 0;
  bool any_ = false;
};

}  // namespace

bool SniffDcgmiDmon(std::string_view head) {
  while (!head.empty()) {
    const std::size_t end = std::min(head.find('\n'), head.size());
    if (!Header(head.substr(0, end)).empty()) return true;
    head.remove_prefix(std::min(end + 1, head.size()));
  }
  return false;
}

Result<void> ImportDcgmiDmon(ByteSource& in, const ImportOptions& options, ImportTarget& out) {
  return DcgmiDmon(in, options, out).Run();
}

}  // namespace idleburn
