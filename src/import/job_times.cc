#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "import/importer.h"
#include "import/json_input.h"
#include "import/printed_values.h"
#include "text/csv.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {

// A scheduler's list of jobs, as a table or as JSON. It tells when jobs ran and who ran them. Which GPUs they had comes
// from the labels of the exporter, with the same id.

namespace {

// Column names in lower case. The first one that a table has counts. They cover sacct and lists that people export.
constexpr std::array<std::string_view, 3> kJobColumns = {"jobid", "job_id", "job"};
constexpr std::array<std::string_view, 2> kStartColumns = {"start", "start_time"};
constexpr std::array<std::string_view, 2> kEndColumns = {"end", "end_time"};
// A list of jobs also has one of these. A table of readings that names jobs does not.
constexpr std::array<std::string_view, 6> kOtherColumns = {"state", "node", "nodelist", "user", "team", "gpus"};
// Columns that tell who ran a job.
constexpr std::array<std::string_view, 3> kUserColumns = {"user", "username", "user_name"};
constexpr std::array<std::string_view, 3> kTeamColumns = {"team", "account", "project"};
constexpr std::array<std::string_view, 1> kExperimentColumns = {"experiment"};
constexpr std::array<std::string_view, 1> kStateColumns = {"state"};
// When a job could have started. Eligible is later than Submit where the user held the job back.
constexpr std::array<std::string_view, 3> kQueuedColumns = {"eligible", "submit", "submit_time"};
// Slurm's texts for a time that has not come.
constexpr std::array<std::string_view, 5> kNoTime = {"", "unknown", "none", "n/a", "invalid"};
// In these states, the end that squeue gives is the job's time limit.
constexpr std::array<std::string_view, 6> kNotOver = {"RUNNING",     "SUSPENDED", "COMPLETING",
                                                      "CONFIGURING", "PENDING",   "REQUEUED"};

// The position of the first name that the header has. Absent if it has none of them.
template <typename Names>
std::optional<std::size_t> FindColumn(const std::vector<std::string>& header, const Names& names) {
  for (const std::string_view name : names) {
    const auto found = std::find(header.begin(), header.end(), name);
    if (found != header.end()) return static_cast<std::size_t>(found - header.begin());
  }
  return std::nullopt;
}

// Positions of the columns in a table of jobs.
struct Columns {
  std::size_t job = 0;
  std::size_t start = 0;
  std::size_t end = 0;
  std::optional<std::size_t> user = {};
  std::optional<std::size_t> team = {};
  std::optional<std::size_t> experiment = {};
  std::optional<std::size_t> state = {};
  std::optional<std::size_t> queued = {};
};

// Absent if the header is not that of a list of jobs.
std::optional<Columns> FindColumns(const std::vector<std::string>& header) {
  const auto job = FindColumn(header, kJobColumns);
  const auto start = FindColumn(header, kStartColumns);
  const auto end = FindColumn(header, kEndColumns);
  if (!job || !start || !end || !FindColumn(header, kOtherColumns)) return std::nullopt;
  return Columns{*job,
                 *start,
                 *end,
                 FindColumn(header, kUserColumns),
                 FindColumn(header, kTeamColumns),
                 FindColumn(header, kExperimentColumns),
                 FindColumn(header, kStateColumns),
                 FindColumn(header, kQueuedColumns)};
}

// The column names of a line. sacct -P separates by "|", other lists by commas.
std::vector<std::string> ReadHeader(std::string_view line) {
  const char separator = line.find('|') != std::string_view::npos ? '|' : ',';
  std::vector<std::string> header;
  for (const std::string_view cell : Split(line, separator)) header.push_back(Lower(cell));
  return header;
}

// True for the output of squeue --json and slurmrestd.
bool LooksLikeJson(std::string_view head) {
  const auto has = [head](std::string_view key) { return head.find(key) != std::string_view::npos; };
  return !head.empty() && head.front() == '{' && has("\"jobs\"") && (has("\"job_state\"") || has("\"job_id\""));
}

// Reads a list in either form and adds its jobs to `jobs`. A job without a readable row stays unbounded: it keeps the
// time that the exporter's labels give it, which is what an audit without a list does.
class JobReader {
 public:
  JobReader(ByteSource& in, const ImportOptions& options, DataQuality& quality, JobTimes* jobs)
      : in_(in), quality_(quality), clock_(options, quality, in.name()), jobs_(jobs) {}

  Result<void> ReadTable();
  Result<void> ReadJson();

 private:
  enum class Said : std::uint8_t { kTime, kNothing, kNonsense };
  // Reads local or zoned text, or seconds since 1970. kNothing: the time has not come. kNonsense: it cannot be read.
  Said Read(std::string_view text, std::int64_t line, std::int64_t* ns);
  // Adds one run, or counts the row as bad. `queued`: when it could have started; empty: not told.
  void Take(const std::string& job, std::string_view start, std::string_view end, std::string_view queued,
            std::int64_t line);
  void TakeJson(const JsonNode& job);

  ByteSource& in_;
  DataQuality& quality_;
  StampClock clock_;
  JobTimes* jobs_;
};

JobReader::Said JobReader::Read(std::string_view text, std::int64_t line, std::int64_t* ns) {
  text = Trim(text);
  if (std::find(kNoTime.begin(), kNoTime.end(), Lower(text)) != kNoTime.end()) return Said::kNothing;
  const ScaledNumber seconds = ParseScaled(text, 9);
  if (seconds.fault == NumberFault::kNone) {
    *ns = seconds.value;
    return seconds.value > 0 ? Said::kTime : Said::kNothing;  // Slurm writes 0 for none
  }
  CivilTime time;
  bool zoned = false;
  if (!TakeCivilTime(text, &time, &zoned) || !text.empty()) return Said::kNonsense;
  *ns = clock_.At(time, zoned, line).nanos();
  return Said::kTime;
}

// Adds one run, or counts the row as bad. A job that has not begun adds nothing, so its labels are not cut.
void JobReader::Take(const std::string& job, std::string_view start, std::string_view end, std::string_view queued,
                     std::int64_t line) {
  JobTimes::Run run{0, JobTimes::kStillRunning};
  const Said begun = Read(start, line, &run.from);
  if (begun == Said::kNothing) return;
  const Said over = Read(end, line, &run.to);
  if (over == Said::kNothing) run.to = JobTimes::kStillRunning;
  if (begun == Said::kNonsense || over == Said::kNonsense || run.to < run.from || job.empty()) {
    quality_.Count(QualityId::kBadRow, {&in_.name(), line});
    return;
  }
  jobs_->Add(job, run);
  std::int64_t ready = 0;
  if (Read(queued, line, &ready) == Said::kTime && ready <= run.from) jobs_->AddWait({run.from, run.from - ready});
}

// Reads a table. Steps ("40017.batch") are skipped, because they lie within their job.
Result<void> JobReader::ReadTable() {
  LineReader lines(in_);
  CsvReader rows(lines);
  std::optional<Columns> columns;
  while (true) {
    const bool more = TRY(rows.Next());
    if (!more) return {};
    const std::vector<std::string_view>& cells = rows.cells();
    if (!columns) {
      std::vector<std::string> header;
      for (const std::string_view cell : cells) header.push_back(Lower(Trim(cell)));
      columns = FindColumns(header);
      if (!columns) return Fail(in_.name() + ": a list of jobs needs the columns JobID, Start and End (sacct -P -X)");
      continue;
    }
    if (cells.size() <= std::max({columns->job, columns->start, columns->end})) {
      quality_.Count(QualityId::kBadRow, {&in_.name(), rows.line()});
      continue;
    }
    const std::string_view job = Trim(cells[columns->job]);
    if (job.find('.') != std::string_view::npos) continue;  // a step: its job has a row of its own
    const auto cell = [&](const std::optional<std::size_t>& column) {
      return column && *column < cells.size() ? std::string(Trim(cells[*column])) : std::string();
    };
    Take(std::string(job), cells[columns->start], cells[columns->end], cell(columns->queued), rows.line());
    jobs_->Name(std::string(job),
                {cell(columns->user), cell(columns->team), cell(columns->experiment), cell(columns->state)});
  }
}

// Adds one job of squeue's JSON.
void JobReader::TakeJson(const JsonNode& job) {
  // Newer versions wrap numbers: {"set": true, "infinite": false, "number": 1757000000}.
  const auto number = [&job](std::string_view key) {
    const std::optional<JsonNode> value = job.Get(key);
    if (!value || value->kind() != JsonNode::Kind::kObject) return value ? value->Text() : std::string();
    return value->GetText("set") == "false" ? std::string() : value->GetText("number");
  };
  std::string state = job.GetText("job_state");
  const std::vector<JsonNode> states = job.GetItems("job_state");
  if (!states.empty()) state = states.front().Text();
  const bool over = std::find(kNotOver.begin(), kNotOver.end(), state) == kNotOver.end();
  if (state == "PENDING") return;
  const std::string eligible = number("eligible_time");
  Take(number("job_id"), number("start_time"), over ? number("end_time") : "",
       eligible.empty() ? number("submit_time") : eligible, 0);
  jobs_->Name(number("job_id"), {job.GetText("user_name"), job.GetText("account"), "", state});
}

Result<void> JobReader::ReadJson() {
  return ForEachJsonDocument(in_, quality_, [this](const JsonNode& document) {
    for (const JsonNode& job : document.GetItems("jobs")) TakeJson(job);
  });
}

}  // namespace

// Inserts in order of start, then merges what touches or overlaps.
void JobTimes::Add(const std::string& job, Run run) {
  std::vector<Run>& runs = jobs_[job];
  const auto before = [](const Run& a, const Run& b) { return a.from < b.from; };
  runs.insert(std::upper_bound(runs.begin(), runs.end(), run, before), run);
  std::vector<Run> merged;
  for (const Run& next : runs) {
    if (!merged.empty() && next.from <= merged.back().to) {
      merged.back().to = std::max(merged.back().to, next.to);
    } else {
      merged.push_back(next);
    }
  }
  runs = std::move(merged);
}

const std::vector<JobTimes::Run>* JobTimes::Of(std::string_view job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? nullptr : &found->second;
}

void JobTimes::Name(const std::string& job, Who who) {
  if (job.empty() || (who.user.empty() && who.team.empty() && who.experiment.empty() && who.state.empty())) return;
  who_.emplace(job, std::move(who));
}

const JobTimes::Who* JobTimes::WhoRan(std::string_view job) const {
  const auto found = who_.find(job);
  return found == who_.end() ? nullptr : &found->second;
}

bool SniffJobTimes(std::string_view head) {
  return LooksLikeJson(head) || FindColumns(ReadHeader(Trim(head.substr(0, head.find('\n'))))).has_value();
}

Result<void> ReadJobTimes(PeekSource& in, const ImportOptions& options, DataQuality& quality, JobTimes* jobs) {
  const std::string_view head = TRY(in.Peek(kSniffBytes));
  const bool json = LooksLikeJson(head);
  JobReader reader(in, options, quality, jobs);
  return json ? reader.ReadJson() : reader.ReadTable();
}

}  // namespace idleburn
