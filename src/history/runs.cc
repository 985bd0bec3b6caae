#include "history/runs.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/money.h"
#include "text/secrets.h"

// Writes, finds and removes kept runs. SQL is made from the arrays of columns below, so names of columns stand once.
// Values of users are always bound and never pasted into SQL.
//
// Lists belonging to a run (labels, inputs, findings, advice) have tables of their own, so that a filter can search
// tags and one row of runs stays readable in any SQLite tool.

namespace idleburn {
namespace {

// Short names for the tables below.
using R = HistoryRun;
// The order in these arrays is that of the SQL statements.
constexpr auto kRunColumns = std::to_array<KeptColumn<R>>({
    {"kind", &R::kind},
    {"process", &R::process},
    {"host", &R::host},
    {"command", &R::command},
    {"folder", &R::folder},
    {"project", &R::project},
    {"exit", &R::exit},
    {"recording", &R::recording},
    {"version", &R::version},
    {"parent", &R::parent},
});

using F = RunFigures;
constexpr auto kFigureColumns = std::to_array<KeptColumn<F>>({
    {"gpus", &F::gpus},
    {"gpu_models", &F::gpu_models},
    {"window_ns", &F::window_ns},
    {"observed_ns", &F::observed_ns},
    {"unobserved_ns", &F::unobserved_ns},
    {"idle_ns", &F::idle_ns},
    {"underutilized_ns", &F::underutilized_ns},
    {"productive_ns", &F::productive_ns},
    {"compute_bound_ns", &F::compute_bound_ns},
    {"effective_ns", &F::effective_ns},
    {"currency", &F::currency},
    {"rate_nano", &F::rate_nano},
    {"rate_source", &F::rate_source},
    {"rates", &F::rates},
    {"rate_as_of_ns", &F::rate_as_of_ns},
    {"cost_nano", &F::cost_nano},
    {"waste_nano", &F::waste_nano},
    {"waste_share", &F::waste_share},
    {"work_unit", &F::work_unit},
    {"work", &F::work},
    {"memory_peak", &F::memory_peak},
    {"pace_ns", &F::pace_ns},
    {"pace_steps", &F::pace_steps},
    {"pace_samples", &F::pace_samples},
    {"pace_tokens", &F::pace_tokens},
});

using P = KeptForecast;
constexpr auto kForecastColumns = std::to_array<KeptColumn<P>>({
    {"plan", &P::plan},
    {"basis", &P::basis},
    {"gpus", &P::gpus},
    {"tokens", &P::tokens},
    {"tokens_per_step", &P::tokens_per_step},
    {"sequence", &P::sequence},
    {"hours", &P::hours},
    {"hours_low", &P::hours_low},
    {"hours_high", &P::hours_high},
    {"gpu_hours", &P::gpu_hours},
    {"gpu_hours_low", &P::gpu_hours_low},
    {"gpu_hours_high", &P::gpu_hours_high},
    {"tokens_s", &P::tokens_s},
    {"tokens_s_low", &P::tokens_s_low},
    {"tokens_s_high", &P::tokens_s_high},
    {"memory", &P::memory},
    {"memory_low", &P::memory_low},
    {"memory_high", &P::memory_high},
    {"currency", &P::currency},
    {"cost_nano", &P::cost_nano},
    {"cost_low_nano", &P::cost_low_nano},
    {"cost_high_nano", &P::cost_high_nano},
});

constexpr auto kFindingColumns = std::to_array<std::string_view>({"cause", "status", "share", "gpu_ns", "cost_nano"});
constexpr auto kAdviceColumns =
    std::to_array<std::string_view>({"lever", "axis", "cause", "low", "expected", "high", "cost_nano"});

// Every statement on runs names its columns, so an older order in the file does not matter.
std::string RunColumnList() {
  return "id, state, started_ns, ended_ns, " + NamesOf(RunColumns()) + ", " + NamesOf(FigureColumns());
}

// Absent values are stored as NULL, never as 0.
template <typename T>
SqliteValue Maybe(const std::optional<T>& value) {
  return value ? SqliteValue(*value) : SqliteValue();
}

SqliteValue TextOrNull(const std::string& text) { return text.empty() ? SqliteValue() : SqliteValue(text); }

// Inserts the run, or updates every column if its id is known. Deleting and inserting would be shorter, but would
// remove its labels by the foreign key.
Result<void> PutRow(SqliteDatabase& history, const HistoryRun& run) {
  std::vector<SqliteValue> values = {run.id, std::string(kRunStateNames[static_cast<std::size_t>(run.state)]),
                                     run.started.nanos()};
  values.push_back(run.ended ? SqliteValue(run.ended->nanos()) : SqliteValue());
  for (const auto& column : kRunColumns) {
    // A project is the user's own text and may hold a secret.
    values.push_back(column.name == "project" ? TextOrNull(WithoutSecrets(run.project)) : ColumnValue(column, run));
  }
  for (const auto& column : kFigureColumns) values.push_back(ColumnValue(column, run.figures));
  std::string marks = "?";
  for (std::size_t i = 1; i < values.size(); ++i) marks += ", ?";
  std::string updates = "state = excluded.state, started_ns = excluded.started_ns, ended_ns = excluded.ended_ns";
  const auto update = [&updates](std::string_view name) {
    updates += ", " + std::string(name) + " = excluded." + std::string(name);
  };
  for (const auto& column : kRunColumns) update(column.name);
  for (const auto& column : kFigureColumns) update(column.name);
  return history.Execute(
      "INSERT INTO runs (" + RunColumnList() + ") VALUES (" + marks + ") ON CONFLICT (id) DO UPDATE SET " + updates,
      values);
}

// Replaces the rows of another table that belong to a run. A place keeps their order.
Result<void> PutRows(SqliteDatabase& history, const std::string& table, std::span<const std::string_view> columns,
                     const std::string& run, const std::vector<std::vector<SqliteValue>>& rows) {
  const std::vector<SqliteValue> of_run = {run};
  TRY(history.Execute("DELETE FROM " + table + " WHERE run = ?", of_run));
  std::string names = "run, place";
  std::string marks = "?, ?";
  for (const std::string_view column : columns) {
    names += ", " + std::string(column);
    marks += ", ?";
  }
  std::int64_t place = 0;
  for (const std::vector<SqliteValue>& row : rows) {
    std::vector<SqliteValue> values = {run, place++};
    values.insert(values.end(), row.begin(), row.end());
    TRY(history.Execute("INSERT INTO " + table + " (" + names + ") VALUES (" + marks + ")", values));
  }
  return {};
}

// Writes the forecast of a run. One that is kept already stays: it was made before the run, and must not be improved
// later.
Result<void> PutForecast(SqliteDatabase& history, const std::string& run, const KeptForecast& forecast) {
  std::vector<SqliteValue> values = {run};
  std::string marks = "?";
  for (const auto& column : kForecastColumns) {
    values.push_back(ColumnValue(column, forecast));
    marks += ", ?";
  }
  return history.Execute("INSERT INTO forecasts (run, " + NamesOf(ForecastColumns()) + ") VALUES (" + marks +
                             ") ON CONFLICT (run) DO NOTHING",
                         values);
}

// The value of a label as it is kept: redacted if the key or the value looks like a secret.
std::string KeptValue(const std::string& key, const std::string& value) {
  return IsSecretName(key) ? std::string(kRedacted) : WithoutSecrets(value);
}

// Writes a tag or an experiment id. `replace` says whether it overwrites a value that is there.
Result<void> PutLabel(SqliteDatabase& history, const std::string& run, const std::string& kind, const std::string& key,
                      const std::string& value, bool replace) {
  const std::vector<SqliteValue> values = {run, kind, key, KeptValue(key, value)};
  const std::string conflict = replace ? "DO UPDATE SET value = excluded.value" : "DO NOTHING";
  return history.Execute("INSERT INTO labels (run, kind, key, value) VALUES (?, ?, ?, ?) ON CONFLICT " + conflict,
                         values);
}

}  // namespace

std::span<const KeptColumn<HistoryRun>> RunColumns() { return kRunColumns; }
std::span<const KeptColumn<RunFigures>> FigureColumns() { return kFigureColumns; }
std::span<const KeptColumn<KeptForecast>> ForecastColumns() { return kForecastColumns; }

Result<void> PutRun(SqliteDatabase& history, const HistoryRun& run) {
  SqliteTransaction change = TRY(SqliteTransaction::Begin(history));
  TRY(PutRow(history, run));
  if (run.forecast) TRY(PutForecast(history, run.id, *run.forecast));
  std::vector<std::vector<SqliteValue>> findings;
  for (const KeptFinding& f : run.figures.findings) {
    findings.push_back({f.cause, f.status, f.share, f.gpu_ns, Maybe(f.cost_nano)});
  }
  TRY(PutRows(history, "findings", kFindingColumns, run.id, findings));
  std::vector<std::vector<SqliteValue>> advice;
  for (const KeptAdvice& a : run.figures.advice) {
    advice.push_back(
        {a.id, a.axis, TextOrNull(a.cause), Maybe(a.low), Maybe(a.expected), Maybe(a.high), Maybe(a.cost_nano)});
  }
  TRY(PutRows(history, "advice", kAdviceColumns, run.id, advice));
  std::vector<std::vector<SqliteValue>> inputs;
  for (const KeptInput& i : run.inputs) inputs.push_back({i.path, TextOrNull(i.sha256)});
  constexpr std::array<std::string_view, 2> kInputColumns = {"path", "sha256"};
  TRY(PutRows(history, "inputs", kInputColumns, run.id, inputs));
  for (const auto& [key, value] : run.experiments) TRY(PutLabel(history, run.id, "experiment", key, value, true));
  for (const auto& [key, value] : run.tags) TRY(PutLabel(history, run.id, "tag", key, value, false));
  return change.Commit();
}

namespace {

// In the order of CostBound::Relation.
constexpr std::array<std::string_view, 4> kRelations = {">", ">=", "<", "<="};

// The SQL condition of a filter; `values` receives what it binds.
std::string Condition(const RunFilter& filter, std::vector<SqliteValue>& values) {
  std::string sql = "1";
  const auto also = [&](const std::string& condition, std::initializer_list<SqliteValue> with) {
    sql += " AND " + condition;
    values.insert(values.end(), with);
  };
  if (!filter.project.empty()) also("project = ?", {WithoutSecrets(filter.project)});
  if (!filter.experiment.empty()) {
    also("EXISTS (SELECT 1 FROM labels WHERE run = id AND value = ?)", {filter.experiment});
  }
  for (const auto& [key, value] : filter.tags) {
    also("EXISTS (SELECT 1 FROM labels l WHERE l.run = id AND l.kind = 'tag' AND l.key = ? AND l.value = ?)",
         {key, KeptValue(key, value)});
  }
  // NULL fails every comparison, so runs of unknown cost are left out.
  if (filter.cost) {
    also("cost_nano " + std::string(kRelations[static_cast<std::size_t>(filter.cost->relation)]) + " ?",
         {filter.cost->nano});
  }
  if (filter.since) also("started_ns >= ?", {filter.since->nanos()});
  if (filter.until) also("started_ns < ?", {filter.until->nanos()});
  return sql;
}

// An unknown state, from a damaged row, counts as interrupted.
RunState StateOf(std::string_view name) {
  const auto* const found = std::find(kRunStateNames.begin(), kRunStateNames.end(), name);
  return found == kRunStateNames.end() ? RunState::kInterrupted : static_cast<RunState>(found - kRunStateNames.begin());
}

// The run in the present row. The order of members is that of RunColumnList.
HistoryRun RowOf(const SqliteStatement& query) {
  HistoryRun run;
  int place = 0;
  run.id = std::string(query.Text(place++).value_or(""));
  run.state = StateOf(query.Text(place++).value_or(""));
  run.started = Instant::FromNanos(query.Integer(place++).value_or(0));
  if (const std::optional<std::int64_t> ended = query.Integer(place++)) run.ended = Instant::FromNanos(*ended);
  for (const auto& column : kRunColumns) TakeColumn(column, query, place++, run);
  for (const auto& column : kFigureColumns) TakeColumn(column, query, place++, run.figures);
  return run;
}

// Calls `take` with each row of a query.
template <typename Take>
Result<void> ForEach(SqliteStatement& query, std::span<const SqliteValue> values, Take take) {
  query.Rewind(values);
  while (true) {
    const bool row = TRY(query.Step());
    if (!row) return {};
    take(query);
  }
}

std::string TextAt(const SqliteStatement& query, int column) { return std::string(query.Text(column).value_or("")); }

// Reads what belongs to a run. The statements are prepared once and used for every run.
class RunParts {
 public:
  // Fails if the file lacks a table, which an up-to-date history never does.
  static Result<RunParts> Prepare(const SqliteDatabase& history) {
    std::vector<SqliteStatement> queries;
    for (const char* sql : {"SELECT kind, key, value FROM labels WHERE run = ?",
                            "SELECT path, sha256 FROM inputs WHERE run = ? ORDER BY place",
                            "SELECT cause, status, share, gpu_ns, cost_nano FROM findings WHERE run = ? ORDER BY place",
                            "SELECT lever, axis, cause, low, expected, high, cost_nano FROM advice WHERE run = ? "
                            "ORDER BY place",
                            "SELECT $ FROM forecasts WHERE run = ?"}) {
      std::string text = sql;
      if (const std::size_t all = text.find('$'); all != std::string::npos) {
        text.replace(all, 1, NamesOf(ForecastColumns()));
      }
      SqliteStatement query = TRY(history.Prepare(text));
      queries.push_back(std::move(query));
    }
    return RunParts(std::move(queries));
  }

  Result<void> Read(HistoryRun& run) {
    const std::vector<SqliteValue> of_run = {run.id};
    TRY(ForEach(queries_[0], of_run, [&run](const SqliteStatement& q) {
      (q.Text(0) == "tag" ? run.tags : run.experiments)[TextAt(q, 1)] = TextAt(q, 2);
    }));
    TRY(ForEach(queries_[1], of_run, [&run](const SqliteStatement& q) {
      run.inputs.push_back({TextAt(q, 0), TextAt(q, 1)});
    }));
    TRY(ForEach(queries_[2], of_run, [&run](const SqliteStatement& q) {
      run.figures.findings.push_back(
          {TextAt(q, 0), TextAt(q, 1), q.Real(2).value_or(0), q.Integer(3).value_or(0), q.Integer(4)});
    }));
    TRY(ForEach(queries_[3], of_run, [&run](const SqliteStatement& q) {
      run.figures.advice.push_back(
          {TextAt(q, 0), TextAt(q, 1), TextAt(q, 2), q.Real(3), q.Real(4), q.Real(5), q.Integer(6)});
    }));
    return ForEach(queries_[4], of_run, [&run](const SqliteStatement& q) {
      int place = 0;
      run.forecast.emplace();
      for (const auto& column : kForecastColumns) TakeColumn(column, q, place++, *run.forecast);
    });
  }

 private:
  explicit RunParts(std::vector<SqliteStatement> queries) : queries_(std::move(queries)) {}
  std::vector<SqliteStatement> queries_;
};

// The runs that meet an SQL condition, newest first, with all that belongs to them.
Result<std::vector<HistoryRun>> RunsWhere(const SqliteDatabase& history, const std::string& condition,
                                          std::span<const SqliteValue> values) {
  SqliteStatement query = TRY(
      history.Prepare("SELECT " + RunColumnList() + " FROM runs WHERE " + condition + " ORDER BY started_ns DESC, id"));
  RunParts parts = TRY(RunParts::Prepare(history));
  std::vector<HistoryRun> runs;
  TRY(ForEach(query, values, [&runs](const SqliteStatement& q) { runs.push_back(RowOf(q)); }));
  for (HistoryRun& run : runs) TRY(parts.Read(run));
  return runs;
}

}  // namespace

Result<CostBound> ParseCostBound(std::string_view text) {
  const std::string_view all = text;
  CostBound bound;
  std::size_t relation = kRelations.size();
  for (std::size_t i = 0; i < kRelations.size(); ++i) {
    if (text.substr(0, kRelations[i].size()) == kRelations[i]) relation = i;  // the longer one stands behind
  }
  // ">=" is tried after ">", so the longer relation wins.
  if (relation < kRelations.size()) {
    bound.relation = static_cast<CostBound::Relation>(relation);
    text.remove_prefix(kRelations[relation].size());
    const Result<Money> amount = Money::Parse(text);
    if (amount) {
      bound.nano = amount->nano();
      return bound;
    }
  }
  return FailUsage("--cost: '" + std::string(all.substr(0, 40)) + "' is not a bound; write '>50', '>=', '<' or '<='");
}

Result<std::vector<HistoryRun>> ListRuns(const SqliteDatabase& history, const RunFilter& filter) {
  std::vector<SqliteValue> values;
  const std::string condition = Condition(filter, values);
  return RunsWhere(history, condition, values);
}

Result<std::int64_t> CountRuns(const SqliteDatabase& history) {
  SqliteStatement count = TRY(history.Prepare("SELECT count(*) FROM runs"));
  TRY(count.Step());
  return count.Integer(0).value_or(0);
}

Result<HistoryRun> FindRun(const SqliteDatabase& history, const std::string& id, const std::string& name) {
  const bool last = id == "last";
  const std::vector<SqliteValue> values = last ? std::vector<SqliteValue>{} : std::vector<SqliteValue>{id};
  // Compares without LIKE: an id with "%" must not match everything.
  // Without "last", `id` is the start of an id, as git accepts it for commits.
  std::vector<HistoryRun> found = TRY(RunsWhere(
      history,
      last ? "rowid = (SELECT rowid FROM runs ORDER BY started_ns DESC, id LIMIT 1)" : "substr(id, 1, length(?1)) = ?1",
      values));
  if (found.size() == 1) return std::move(found.front());
  if (found.empty()) {
    return Fail(name + (last ? std::string(": no run is kept yet")
                             : ": no run has an id that starts with '" + id.substr(0, 40) +
                                   "'; idleburn history list shows all"));
  }
  std::string ids;
  for (std::size_t i = 0; i < std::min<std::size_t>(found.size(), 5); ++i) {
    ids += (i == 0 ? "" : ", ") + found[i].id;
  }
  if (found.size() > 5) ids += ", ...";
  return Fail(name + ": '" + id + "' is the start of " + std::to_string(found.size()) + " ids (" + ids +
              "); give more characters");
}

std::vector<std::string> CountedWithin(std::span<const HistoryRun> runs, std::span<const HistoryRun> all) {
  // Follows the chain of parents outwards. The last one that holds this run's time is the outermost.
  std::map<std::string_view, const HistoryRun*> by_id;
  for (const HistoryRun& run : all) by_id[run.id] = &run;
  std::vector<std::string> within;
  for (const HistoryRun& run : runs) {
    std::string outermost;
    std::string_view next = run.parent;
    for (std::size_t depth = 0; !next.empty() && depth < by_id.size(); ++depth) {  // no circle goes on for ever
      const auto outer = by_id.find(next);
      if (outer == by_id.end() || outer->second->id == run.id) break;
      const HistoryRun& around = *outer->second;
      // An outer run without GPUs, or with less time, does not include this one's.
      const bool holds = around.host == run.host && around.figures.window_ns.value_or(0) > 0 &&
                         around.figures.window_ns >= run.figures.window_ns;
      if (holds) outermost = around.id;
      next = around.parent;
    }
    within.push_back(std::move(outermost));
  }
  return within;
}

Result<void> SetTag(SqliteDatabase& history, const std::string& run, const std::string& key, const std::string& value) {
  return PutLabel(history, run, "tag", key, value, true);
}

Result<bool> RemoveTag(SqliteDatabase& history, const std::string& run, const std::string& key) {
  const std::vector<SqliteValue> values = {run, key};
  TRY(history.Execute("DELETE FROM labels WHERE run = ? AND kind = 'tag' AND key = ?", values));
  return history.Changes() > 0;
}

Result<void> RemoveRun(SqliteDatabase& history, const std::string& run) {
  const std::vector<SqliteValue> values = {run};
  return history.Execute("DELETE FROM runs WHERE id = ?", values);
}

}  // namespace idleburn
