#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "import/device_facts.h"
#include "import/formats.h"
#include "import/log_watch.h"
#include "import/printed_values.h"
#include "import/tool_readers.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {

// dmon and pmon write for people: rows may lack dates, times or both, headers repeat, and pmon does not mark where a
// sweep ends. RowClock dates the rows, MonMapper tells sweeps apart, and MonReader finds the cells.

namespace {

// A column of dmon, its signal and its unit. dmon prints bare numbers; its "MB" of memory are MiB.
struct MonColumn {
  std::string_view name;
  Signal signal;
  std::string_view unit;
};
constexpr std::array<MonColumn, 11> kMonColumns = {{
    {"pwr", Signal::kPower, "W"},
    {"gtemp", Signal::kTemperature, "C"},
    {"temp", Signal::kTemperature, "C"},  // drivers before 396
    {"sm", Signal::kUtilization, "%"},
    {"mem", Signal::kMemoryUtilization, "%"},
    {"enc", Signal::kEncoderUtilization, "%"},
    {"dec", Signal::kDecoderUtilization, "%"},
    {"pclk", Signal::kSmClock, "MHz"},
    {"fb", Signal::kMemoryUsed, "MiB"},
    {"rxpci", Signal::kPcieRx, "MB/s"},
    {"txpci", Signal::kPcieTx, "MB/s"},
}};
// Columns that are used although they are no signals.
constexpr std::array<std::string_view, 3> kCommonColumns = {"gpu", "date", "time"};
constexpr std::array<std::string_view, 3> kProcessColumns = {"pid", "type", "command"};
constexpr std::int64_t kSecondsPerDay = 86400;

bool IsSeparator(char c) { return c == ' ' || c == '\t' || c == ','; }

// Removes the next word from `text`. `--format csv` separates words by commas. Empty at the end.
std::string_view TakeMonWord(std::string_view& text) {
  while (!text.empty() && IsSeparator(text.front())) text.remove_prefix(1);
  std::size_t n = 0;
  while (n < text.size() && !IsSeparator(text[n])) ++n;
  const std::string_view word = text.substr(0, n);
  text.remove_prefix(n);
  return word;
}

// Column names of a header line. Empty for a line of units and for anything else.
std::vector<std::string> HeaderColumns(std::string_view line) {
  std::vector<std::string> columns;
  if (line.empty() || line.front() != '#') return columns;
  line.remove_prefix(1);
  bool gpu = false;
  for (std::string_view word = TakeMonWord(line); !word.empty(); word = TakeMonWord(line)) {
    columns.push_back(Lower(word));
    gpu = gpu || columns.back() == "gpu";
  }
  if (!gpu) columns.clear();
  return columns;
}

bool Contains(const auto& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

bool IsPmon(const std::vector<std::string>& columns) { return Contains(columns, "pid"); }

// Dates the rows of a log. dmon and pmon print dates only with `-o D` and times only with `-o T`. If the log has no
// clock, each sweep over the GPUs is one period later than the last; if it has times of day alone, the days are
// counted from 1970.
class RowClock {
 public:
  RowClock(const MonReader& rows, const ImportOptions& options, ImportTarget& out, const std::string& file)
      : rows_(rows), quality_(out.quality), stamps_(options, out.quality, file), options_(options) {}

  // The time of the current row. Absent if its stamp cannot be read. `sweep`: its number, used if the log has no
  // times.
  std::optional<Instant> At(std::int64_t sweep) {
    const std::string_view date = rows_.Cell("date").value_or("");
    const std::string_view time = rows_.Cell("time").value_or("");
    if (time.empty() || date.empty()) CountAssumed(time.empty());
    const std::optional<CivilTime> stamp = Parse(date, time);
    if (!stamp) return std::nullopt;
    // Without times, sweeps are counted: from --start, or from midnight of the date that the first row has.
    if (time.empty()) {
      if (options_.start) return AssumedTime(options_, sweep);
      if (!start_) start_ = InUtc(*stamp);
      return *start_ + (AssumedTime(options_, sweep) - Instant());
    }
    if (!date.empty()) return stamps_.At(*stamp, false, rows_.place().line);
    return RollOver(InUtc(*stamp));
  }

 private:
  // Counts once what the log's rows lack.
  void CountAssumed(bool no_time) {
    if (std::exchange(assumed_, true)) return;
    quality_.Count(QualityId::kNoTimestamp, rows_.place());
    if (no_time) quality_.Count(QualityId::kPeriodEstimated, rows_.place());
  }

  // Parses "20210102" and "19:12:31". A missing date is the first day of 1970; a missing time is midnight.
  static std::optional<CivilTime> Parse(std::string_view date, std::string_view time) {
    if (date.empty()) date = "19700101";
    if (date.size() != 8) return std::nullopt;
    std::string text;
    text.append(date.substr(0, 4)).append("-").append(date.substr(4, 2)).append("-").append(date.substr(6, 2));
    text.append(" ").append(time.empty() ? "00:00:00" : time);
    std::string_view rest = text;
    CivilTime stamp;
    bool zoned = false;
    if (!TakeCivilTime(rest, &stamp, &zoned) || !rest.empty()) return std::nullopt;
    return stamp;
  }

  // In a log without dates, a time of day that falls back by more than half a day has passed midnight, as 00:00:01
  // after 23:59:59. A smaller step back is left as it is.
  Instant RollOver(Instant time) {
    const Nanos day(kSecondsPerDay * kNanosPerSecond);
    time = time + days_ * day;
    if (last_ && *last_ - time > day / 2) {
      ++days_;
      time = time + day;
    }
    last_ = time;
    return time;
  }

  const MonReader& rows_;
  DataQuality& quality_;
  StampClock stamps_;
  const ImportOptions& options_;
  std::optional<Instant> start_;  // if the log has no times
  std::optional<Instant> last_;   // if the log has no dates
  std::int64_t days_ = 0;
  bool assumed_ = false;
};

// Turns rows of dmon and pmon into samples. A row of dmon is a sample. Rows of pmon are collected into one sample per
// GPU and sweep, the number of its compute processes.
class MonMapper {
 public:
  MonMapper(ByteSource& in, const ImportOptions& options, ImportTarget& out)
      : rows_(in, out.quality),
        clock_(rows_, options, out, in.name()),
        out_(out),
        file_(in.name()),
        model_(options.gpu_model) {}

  Result<void> Run() {
    while (true) {
      const bool more = TRY(rows_.Next());
      if (!more) break;
      if (rows_.header() != header_) NewHeader();
      const std::optional<std::int64_t> gpu = ParseInteger(*rows_.Cell("gpu"));
      if (!gpu || *gpu < 0 || *gpu > kMaxIndex) {
        out_.quality.Count(QualityId::kBadRow, rows_.place());
      } else if (pmon_) {
        TakeProcess(static_cast<int>(*gpu));
      } else {
        TakeDevice(static_cast<int>(*gpu));
      }
    }
    FlushProcesses();
    return watch_.Verdict(file_);
  }

 private:
  static constexpr std::int64_t kMaxIndex = 4095;

  // Counts columns that are not used, and ends the sweep of pmon if the log changes to dmon.
  void NewHeader() {
    const bool pmon = IsPmon(rows_.columns());
    if (pmon != pmon_) FlushProcesses();
    pmon_ = pmon;
    header_ = rows_.header();
    for (const std::string& name : rows_.columns()) {
      const auto is = [&](const MonColumn& column) { return column.name == name; };
      const bool used =
          Contains(kCommonColumns, name) ||
          (pmon ? Contains(kProcessColumns, name) : std::any_of(kMonColumns.begin(), kMonColumns.end(), is));
      if (!used && unknown_.size() < kMaxUnknown && unknown_.insert(name).second) {
        out_.quality.CountNamed(QualityId::kUnknownColumn, name, rows_.place());
      }
    }
  }
  static constexpr std::size_t kMaxUnknown = 1000;

  // The device of an index, the only identity that these logs have.
  DeviceId Enter(int gpu) {
    DeviceKey key;
    key.index = gpu;
    key.name = model_;
    return EnterDevice(key, out_, rows_.place());
  }

  // Delivers a row of dmon. A sweep lists GPUs in rising order, so a row whose GPU is not above the last begins a new
  // one.
  void TakeDevice(int gpu) {
    if (last_gpu_ >= gpu) ++sweep_;
    last_gpu_ = gpu;
    const std::optional<Instant> time = clock_.At(sweep_);
    if (!time) {
      out_.quality.Count(QualityId::kBadRow, rows_.place());
      return;
    }
    Sample sample;
    sample.time = *time;
    sample.device = Enter(gpu);
    for (const MonColumn& column : kMonColumns) {
      const std::optional<std::string_view> text = rows_.Cell(column.name);
      if (!text || !PutQuantity(column.signal, *text, column.unit, &sample, out_.quality, rows_.place())) continue;
      out_.devices.NameCounter(sample.device, column.signal, "nvidia_smi_dmon." + std::string(column.name));
    }
    watch_.OnSample(sample, rows_.place().line);
    out_.sink.OnSamples({&sample, 1});
  }

  // Counts the processes of one GPU in one sweep. pmon does not mark the end of a sweep. It ends when the GPU number
  // falls back, a process repeats, the row says "no process", or the row's time changes.
  void TakeProcess(int gpu) {
    const std::string_view pid = rows_.Cell("pid").value_or("-");
    const std::string time(rows_.Cell("time").value_or(""));
    const bool none = pid == "-";
    if (!none && !ParseInteger(pid)) {
      out_.quality.Count(QualityId::kBadRow, rows_.place());
      return;
    }
    const bool same_gpu = last_gpu_ == gpu;
    const bool again = same_gpu && (none || pids_.empty() || pids_.contains(std::string(pid)) || time != last_time_);
    if (!same_gpu || again) FlushProcesses();
    if (last_gpu_ > gpu || again) ++sweep_;
    // The first row of a GPU in this sweep gives its time.
    if (!pending_) {
      const std::optional<Instant> at = clock_.At(sweep_);
      if (!at) {
        out_.quality.Count(QualityId::kBadRow, rows_.place());
        return;
      }
      pending_ = *at;
    }
    last_gpu_ = gpu;
    last_time_ = time;
    if (none) return;
    out_.quality.Count(QualityId::kProcessDetail, rows_.place());
    pids_.emplace(pid);
    const std::string_view command = rows_.Cell("command").value_or("");
    // A notebook may hold a GPU without using it, so the device is marked.
    if (IsNotebook(command)) out_.devices.NoteProcess(Enter(gpu), command);
    if (rows_.Cell("type").value_or("").find('C') != std::string_view::npos) ++computing_;
  }

  // Delivers the sweep being collected as one sample. Type "C" and "C+G" are compute processes.
  void FlushProcesses() {
    if (pending_) {
      Sample sample;
      sample.time = *pending_;
      sample.device = Enter(last_gpu_);
      sample.Set(Signal::kProcesses, computing_);
      out_.devices.NameCounter(sample.device, Signal::kProcesses, "nvidia_smi_pmon.pid");
      out_.sink.OnSamples({&sample, 1});
    }
    pending_.reset();
    pids_.clear();
    computing_ = 0;
  }

  MonReader rows_;
  RowClock clock_;
  ImportTarget& out_;
  const std::string& file_;
  const std::string& model_;  // --gpu-model
  IndexWatch watch_{out_.devices};
  int header_ = 0;
  bool pmon_ = false;
  std::set<std::string> unknown_;
  std::int64_t sweep_ = 0;
  int last_gpu_ = -1;

  std::optional<Instant> pending_;  // time of the sweep being collected
  std::set<std::string> pids_;
  std::int64_t computing_ = 0;
  std::string last_time_;
};

}  // namespace

MonReader::MonReader(ByteSource& in, DataQuality& quality) : lines_(in), quality_(quality) {}

Result<bool> MonReader::Next() {
  std::string_view line;
  while (true) {
    const Result<bool> more = lines_.Next(&line);
    if (!more) return more;
    if (!*more) break;
    if (Trim(line).empty()) continue;
    if (line.front() == '#') {
      TakeHeader(line);
    } else if (TakeRow(line)) {
      return true;
    } else {
      quality_.Count(lines_.terminated() ? QualityId::kBadRow : QualityId::kTornRow, place());
    }
  }
  if (header_ > 0) return false;
  return Fail(lines_.name() + ": no header line that begins with '# gpu'; expected a log of nvidia-smi dmon or pmon");
}

std::optional<std::string_view> MonReader::Cell(std::string_view column) const {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i] == column) return cells_[i];
  }
  return std::nullopt;
}

// Takes column names. A header that repeats the columns changes nothing, except that alignment begins anew.
void MonReader::TakeHeader(std::string_view line) {
  std::vector<std::string> columns = HeaderColumns(line);
  if (columns.empty()) return;  // units or a comment
  row_end_ = 0;
  if (header_ > 0 && columns == columns_) return;
  columns_ = std::move(columns);
  ++header_;
}

// Cuts a line into as many cells as the header has columns. False if the line has fewer or more, or may be cut off.
bool MonReader::TakeRow(std::string_view line) {
  if (header_ == 0) return false;
  cells_.clear();
  std::size_t end = 0;  // of the last cell before a command
  std::string_view rest = line;
  while (cells_.size() < columns_.size()) {
    // A command is the last column and may contain spaces.
    const bool tail = columns_[cells_.size()] == "command" && cells_.size() + 1 == columns_.size();
    while (tail && !rest.empty() && IsSeparator(rest.front())) rest.remove_prefix(1);
    const std::string_view word = tail ? Trim(std::exchange(rest, {})) : TakeMonWord(rest);
    if (word.empty() && !tail) return false;
    if (!tail) end = static_cast<std::size_t>(word.data() + word.size() - line.data());
    cells_.push_back(word);
  }
  if (!TakeMonWord(rest).empty()) return false;
  // Cells are right-aligned. In a last line without a line end, a cell that ends too early may have lost digits.
  const bool aligned = line.find(',') == std::string_view::npos;
  if (!lines_.terminated() && aligned && end < row_end_) return false;
  row_end_ = end;
  return true;
}

// True if one of the first lines is a header with a column that only these tools have.
bool SniffNvidiaSmiMon(std::string_view head) {
  constexpr std::array<std::string_view, 8> kMarks = {"pid", "pwr", "sm", "fb", "mclk", "pviol", "sbecc", "rxpci"};
  constexpr int kLinesBefore = 8;  // of nohup, ssh or the driver
  for (int before = 0; before <= kLinesBefore && !head.empty();) {
    const std::string_view line = head.substr(0, head.find('\n'));
    const std::vector<std::string> columns = HeaderColumns(Trim(line.substr(0, 4096)));
    if (std::any_of(kMarks.begin(), kMarks.end(), [&](std::string_view mark) { return Contains(columns, mark); })) {
      return true;
    }
    before += Trim(line).empty() ? 0 : 1;
    head.remove_prefix(std::min(line.size() + 1, head.size()));
  }
  return false;
}

Result<void> ImportNvidiaSmiMon(ByteSource& in, const ImportOptions& options, ImportTarget& out) {
  return MonMapper(in, options, out).Run();
}

}  // namespace idleburn
