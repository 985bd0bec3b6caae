#include "import/dcgmi_stats.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/int128.h"
#include "import/stamp.h"
#include "import/units.h"
#include "telemetry/sample.h"
#include "text/number.h"

namespace idleburn {
namespace {

constexpr std::string_view kJobMark = "for job:";
constexpr std::string_view kGpuMark = "GPU ID:";
constexpr std::string_view kStart = "Execution Stats/Start Time";
constexpr std::string_view kEnd = "Execution Stats/End Time";
constexpr std::string_view kDuration = "Execution Stats/Total Execution Time (sec)";
constexpr std::string_view kXidErrors = "Event Stats/Critical XID Errors";
constexpr std::string_view kEnergy = "Performance Stats/Energy Consumed (Joules)";
constexpr std::string_view kProcessSection = "Compute Process Utilization";

struct Source {
  Signal signal;
  std::string_view path;
  std::string_view figure;  // of the cell, or "" for the whole
  std::string_view unit;
  std::string_view counter;
};
constexpr std::array<Source, 6> kSources = {{
    {Signal::kUtilization, "Performance Stats/SM Utilization (%)", "Avg", "%", "dcgmi.sm_utilization_avg"},
    {Signal::kMemoryUtilization, "Performance Stats/Memory Utilization (%)", "Avg", "%",
     "dcgmi.memory_utilization_avg"},
    {Signal::kPower, "Performance Stats/Power Usage (Watts)", "Avg", "W", "dcgmi.power_usage_avg"},
    {Signal::kSmClock, "Performance Stats/SM Clock (MHz)", "Avg", "MHz", "dcgmi.sm_clock_avg"},
    {Signal::kMemoryUsed, "Performance Stats/Max GPU Memory Used (bytes)", "", "B", "dcgmi.max_gpu_memory_used"},
    {Signal::kProcesses, "Execution Stats/No. of Processes", "", "", "dcgmi.no_of_processes"},
}};

std::string_view Strip(std::string_view text, std::string_view any_of) {
  const std::size_t first = text.find_first_not_of(any_of);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(any_of) - first + 1);
}

class Mapper {
 public:
  Mapper(const ByteSource& in, const ImportOptions& options, ImportTarget& out)
      : out_(out), file_(in.name()), clock_(options, out.quality, file_) {}

  void Map(const DcgmiGpu& gpu) {
    place_ = {&file_, gpu.line};
    const std::optional<std::int64_t> id = ParseInteger(gpu.id);
    const std::optional<Instant> start = StartOf(gpu);
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
    span.end = std::max(EndOf(gpu, *start), *start);
    ReadEnergy(gpu, span.end - *start, &span.means);
    const DeviceId device = span.means.device;
    if (!gpu.job.empty()) out_.owners.Add(device, {"job " + gpu.job}, *start, span.end);
    if (ParseInteger(gpu.leaves.Get(kXidErrors)).value_or(0) > 0) out_.quality.Count(QualityId::kXidSeen, place_);
    jobs_[device].push_back(std::move(span));
  }

  // Hands on what each GPU did from the start of a job to its end, and where none ran that nothing is known.
  void Finish() {
    for (auto& [device, jobs] : jobs_) Deliver(device, jobs);
  }

 private:
  struct JobSpan {
    Sample means;  // from its time
    Instant end;
  };

  // Where jobs overlap, the one that began last is the nearest to what went on.
  void Deliver(DeviceId device, std::vector<JobSpan>& jobs) {
    std::stable_sort(jobs.begin(), jobs.end(),
                     [](const JobSpan& a, const JobSpan& b) { return a.means.time < b.means.time; });
    std::set<Instant> edges;
    std::uint32_t told = 0;  // of any job
    for (const JobSpan& job : jobs) {
      edges.insert({job.means.time, job.end});
      told |= job.means.present | job.means.unavailable;
    }
    std::size_t begun = 0;
    std::vector<std::size_t> running;  // those that have ended are dropped from its back
    for (const Instant edge : edges) {
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

  // A job without a start cannot be placed in time, but one with a duration still has costs.
  std::optional<Instant> StartOf(const DcgmiGpu& gpu) {
    const std::string_view text = gpu.leaves.Get(kStart);
    if (const std::optional<CivilTime> stamp = ParseCtime(text)) return clock_.At(*stamp, false, gpu.line);
    if (!WhyUnavailable(text) || !gpu.leaves.Find(kDuration)) return std::nullopt;
    out_.quality.Count(QualityId::kNoTimestamp, place_);
    return Instant();
  }

  // A job that still runs has no end yet; how long it has run is known.
  Instant EndOf(const DcgmiGpu& gpu, Instant start) {
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

  void Read(const DcgmiGpu& gpu, Sample* sample) {
    for (const Source& source : kSources) {
      const std::optional<std::string_view> cell = gpu.leaves.Find(source.path);
      if (!cell) continue;
      const std::string_view text = source.figure.empty() ? *cell : Figure(*cell, source.figure).value_or(*cell);
      if (!PutQuantity(source.signal, text, source.unit, sample, out_.quality, place_)) continue;
      out_.devices.NameCounter(sample->device, source.signal, source.counter);
    }
  }

  // Energy over time is the mean power, and nearer to it than the mean of readings of power, or where there are none.
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

  // Rows that are not used: counted for the first GPU of an input, since the rest repeats them.
  void CountUnknown(const DcgmiGpu& gpu) {
    if (std::exchange(counted_, true)) return;
    for (const auto& [path, text] : gpu.leaves.all()) {
      const std::string_view name = path;
      const auto is = [&](const Source& source) { return source.path == name; };
      const bool used = std::any_of(kSources.begin(), kSources.end(), is) || name == kStart || name == kEnd ||
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

void DcgmiReader::TakeLine(std::string_view line) {
  if (const std::size_t at = line.find(kJobMark); at != std::string_view::npos && line.front() != '|') {
    job_ = Strip(line.substr(at + kJobMark.size()), " .");
    return;
  }
  if (line.front() != '|' && line.front() != '+') return;
  // A border, with or without a title in it: "+-----  Event Stats  ---+---+".
  closed_ = false;
  if (line.size() > 1 && (line[1] == '-' || line[1] == '=')) {
    const std::string_view title = Strip(line, "|+-= ");
    closed_ = title.empty() && line.back() == '+';
    if (!title.empty()) section_ = title;
    group_.clear();
    return;
  }
  if (line.size() < 2 || line.back() != '|') {
    quality_.Count(lines_.terminated() ? QualityId::kBadRow : QualityId::kTornRow, {&lines_.name(), lines_.number()});
    return;
  }
  const std::string_view inner = line.substr(1, line.size() - 2);
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

void DcgmiReader::TakeCell(std::string_view key, std::string_view value) {
  constexpr std::size_t kMaxKept = 1000;  // of a table's rows, and of its processes
  if (!open_ || open_->leaves.all().size() >= kMaxKept || open_->processes.size() >= kMaxKept) {
    quality_.Count(QualityId::kBadRow, {&lines_.name(), lines_.number()});
    return;
  }
  if (section_ == kProcessSection) {
    if (key == "PID") open_->processes.emplace_back();
    if (!open_->processes.empty()) open_->processes.back().Add(std::string(key), value);
    return;
  }
  std::string full(key);
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
  Mapper mapper(in, options, out);
  DcgmiGpu gpu;
  while (true) {
    const bool more = TRY(reader.Next(&gpu));
    if (!more) break;
    mapper.Map(gpu);
  }
  mapper.Finish();
  return {};
}

}  // namespace idleburn
