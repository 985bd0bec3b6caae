#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "import/device_facts.h"
#include "import/formats.h"
#include "import/printed_values.h"
#include "import/tool_readers.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {

// The processes that nvidia-smi lists. They say who held a GPU, and so whether an idle GPU was idle or held; how busy
// it was they do not say. This input is therefore best read beside a log of the same run.

namespace {

// Names of columns, including those of older drivers.
struct ColumnName {
  std::string_view name;
  ComputeApp::Column column;
};
constexpr std::array<ColumnName, 10> kColumnNames = {{
    {"timestamp", ComputeApp::kTimestamp},
    {"gpu_name", ComputeApp::kGpuName},
    {"gpu_bus_id", ComputeApp::kBusId},
    {"gpu_serial", ComputeApp::kSerial},
    {"gpu_uuid", ComputeApp::kUuid},
    {"pid", ComputeApp::kPid},
    {"process_name", ComputeApp::kProcessName},
    {"name", ComputeApp::kProcessName},
    {"used_gpu_memory", ComputeApp::kUsedMemory},
    {"used_memory", ComputeApp::kUsedMemory},
}};

// The column of a title: kUsedMemory for "used_gpu_memory [MiB]".
std::optional<ComputeApp::Column> FindAppColumn(std::string_view title) {
  const std::string_view name = Trim(title.substr(0, title.find('[')));
  for (const ColumnName& known : kColumnNames) {
    if (known.name == name) return known.column;
  }
  return std::nullopt;
}

// True for a header of --query-compute-apps. --query-accounted-apps has gpu_utilization and is not one.
bool IsHeader(const std::vector<std::string_view>& cells) {
  const auto has = [&](ComputeApp::Column column) {
    return std::any_of(cells.begin(), cells.end(), [&](std::string_view c) { return FindAppColumn(c) == column; });
  };
  const auto accounted = [](std::string_view c) { return c.substr(0, 15) == "gpu_utilization"; };
  return has(ComputeApp::kPid) && (has(ComputeApp::kProcessName) || has(ComputeApp::kUsedMemory)) &&
         std::none_of(cells.begin(), cells.end(), accounted);
}

// Counts processes by GPU. nvidia-smi prints one row per process and nothing for a GPU without processes, so a sweep
// must be complete before it is known which GPUs had none. A sweep over the GPUs ends when a GPU repeats with another
// time. Without times, it ends when one of the GPU's processes repeats.
//
//     t0 GPU-a 101 / t0 GPU-b 102 / t1 GPU-a 101   ->  a: 1, b: 1 at t0;  a: 1, b: 0 at t1
//
// Wrong where a GPU has never had a process: it is in no row and cannot be known.
class Counter {
 public:
  Counter(const ComputeAppsReader& rows, const ImportOptions& options, ImportTarget& out, const std::string& file)
      : rows_(rows), out_(out), clock_(options, out.quality, file), options_(options) {}

  // Adds a row to the sweep, after delivering the sweep before it if the row begins a new one.
  void Add(const ComputeApp& app) {
    const std::optional<std::int64_t> pid = ParseInteger(app.Get(ComputeApp::kPid));
    DeviceKey key;
    key.uuid = app.Get(ComputeApp::kUuid);
    key.bus_id = app.Get(ComputeApp::kBusId);
    key.name = NameIn(app.Get(ComputeApp::kGpuName));
    const bool named = !NormalUuid(key.uuid).empty() || key.bus_id.find(':') != std::string::npos;
    const std::optional<Instant> time = ReadTime(app);
    if (!pid || !named || !time) {
      out_.quality.Count(QualityId::kBadRow, rows_.place());
      return;
    }
    const DeviceId id = EnterDevice(key, out_, rows_.place());
    out_.devices.NoteProcess(id, app.Get(ComputeApp::kProcessName));
    if (const auto seen = sweep_.find(id); seen != sweep_.end()) {
      const bool timed = rows_.Has(ComputeApp::kTimestamp);
      if (timed ? seen->second.time != *time : seen->second.pids.count(*pid) != 0) Flush();
    }
    Group& group = sweep_[id];
    if (group.pids.empty()) group.time = rows_.Has(ComputeApp::kTimestamp) ? *time : Assumed();
    group.pids.insert(*pid);
    out_.quality.Count(QualityId::kProcessDetail, rows_.place());
  }

  // Delivers the sweep being collected. GPUs that had processes before and are not in the sweep have none.
  void Flush() {
    if (sweep_.empty()) return;
    // GPUs without processes get the time of the sweep's first row.
    Instant first = sweep_.begin()->second.time;
    for (const auto& [id, group] : sweep_) first = std::min(first, group.time);
    std::vector<Sample> samples;
    for (const DeviceId id : devices_) {
      if (sweep_.count(id) == 0) samples.push_back(CountAt(first, id, 0));
    }
    for (const auto& [id, group] : sweep_) {
      samples.push_back(CountAt(group.time, id, static_cast<std::int64_t>(group.pids.size())));
      devices_.insert(id);
    }
    std::stable_sort(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) { return a.time < b.time; });
    out_.sink.OnSamples(samples);
    sweep_.clear();
    ++sweeps_;
  }

 private:
  // The processes of one GPU in the current sweep.
  struct Group {
    Instant time;
    std::set<std::int64_t> pids;
  };

  Instant Assumed() const { return AssumedTime(options_, sweeps_); }

  // Absent if the row's time cannot be read.
  std::optional<Instant> ReadTime(const ComputeApp& app) {
    if (!rows_.Has(ComputeApp::kTimestamp)) {
      if (!std::exchange(assumed_, true)) {
        out_.quality.Count(QualityId::kNoTimestamp, rows_.place());
        out_.quality.Count(QualityId::kPeriodEstimated, rows_.place());
      }
      return Assumed();
    }
    std::string_view text = app.Get(ComputeApp::kTimestamp);
    CivilTime stamp;
    bool zoned = false;
    if (!TakeCivilTime(text, &stamp, &zoned) || !text.empty()) return std::nullopt;
    return clock_.At(stamp, zoned, rows_.place().line);
  }

  // A sample that says how many processes a GPU has.
  Sample CountAt(Instant time, DeviceId id, std::int64_t processes) {
    Sample sample;
    sample.time = time;
    sample.device = id;
    sample.Set(Signal::kProcesses, processes);
    out_.devices.NameCounter(id, Signal::kProcesses, "nvidia_smi_compute_apps.pid");
    return sample;
  }

  const ComputeAppsReader& rows_;
  ImportTarget& out_;
  StampClock clock_;
  const ImportOptions& options_;
  std::map<DeviceId, Group> sweep_;
  std::set<DeviceId> devices_;  // that have had a process
  std::int64_t sweeps_ = 0;
  bool assumed_ = false;
};

}  // namespace

ComputeAppsReader::ComputeAppsReader(ByteSource& in, DataQuality& quality) : lines_(in), quality_(quality) {}

Result<bool> ComputeAppsReader::Next(ComputeApp* app) {
  std::string_view line;
  while (true) {
    const Result<bool> more = lines_.Next(&line);
    if (!more) return more;
    if (!*more) break;
    if (Trim(line).empty() || TakeHeader(line)) continue;
    if (columns_.empty()) break;
    if (TakeRow(line, app)) return true;
    quality_.Count(lines_.terminated() ? QualityId::kBadRow : QualityId::kTornRow, place());
  }
  if (!columns_.empty()) return false;
  return Fail(lines_.name() + ": the first line names no columns pid and process_name or used_gpu_memory; " +
              "run nvidia-smi --query-compute-apps with --format=csv, without noheader");
}

bool ComputeAppsReader::Has(ComputeApp::Column column) const {
  return std::find(columns_.begin(), columns_.end(), column) != columns_.end();
}

// True if the line is a header, which then replaces the one before. Concatenated logs repeat it.
bool ComputeAppsReader::TakeHeader(std::string_view line) {
  const std::vector<std::string_view> cells = Split(line, ',');
  if (!IsHeader(cells)) return false;
  columns_.clear();
  for (const std::string_view cell : cells) {
    columns_.push_back(FindAppColumn(cell));
    if (!columns_.back()) quality_.CountNamed(QualityId::kUnknownColumn, cell, place());
  }
  return true;
}

// Process names are not quoted and may contain commas. Surplus cells belong to the name.
bool ComputeAppsReader::TakeRow(std::string_view line, ComputeApp* app) const {
  const std::vector<std::string_view> cells = Split(line, ',');
  if (cells.size() < columns_.size()) return false;
  std::size_t surplus = cells.size() - columns_.size();
  if (surplus > 0 && !Has(ComputeApp::kProcessName)) return false;
  app->cells.fill(std::nullopt);
  std::size_t at = 0;
  for (const std::optional<ComputeApp::Column>& column : columns_) {
    const std::size_t last = at + (column == ComputeApp::kProcessName ? std::exchange(surplus, 0) : 0);
    const char* end = cells[last].data() + cells[last].size();
    const std::string_view cell(cells[at].data(), static_cast<std::size_t>(end - cells[at].data()));
    if (column) app->cells[*column] = cell;
    at = last + 1;
  }
  return true;
}

bool SniffComputeAppsCsv(std::string_view head) {
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return false;
  head.remove_prefix(first);
  return IsHeader(Split(head.substr(0, std::min<std::size_t>(head.find('\n'), 4096)), ','));
}

Result<void> ImportComputeAppsCsv(ByteSource& in, const ImportOptions& options, ImportTarget& out) {
  ComputeAppsReader rows(in, out.quality);
  Counter counter(rows, options, out, in.name());
  ComputeApp app;
  bool checked = false;
  while (true) {
    const bool more = TRY(rows.Next(&app));
    if (!more) break;
    if (!std::exchange(checked, true) && !rows.Has(ComputeApp::kUuid) && !rows.Has(ComputeApp::kBusId)) {
      return Fail(in.name() + ": the rows name no GPU; add gpu_uuid to --query-compute-apps");
    }
    counter.Add(app);
  }
  counter.Flush();
  return {};
}

}  // namespace idleburn
