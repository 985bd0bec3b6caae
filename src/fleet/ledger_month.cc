#include "fleet/ledger_month.h"

#include <algorithm>
#include <tuple>

namespace idleburn {
namespace {

constexpr const char* kMonthTables = R"(
CREATE TABLE IF NOT EXISTS name(kind INTEGER, node TEXT, name TEXT, id INTEGER,
  PRIMARY KEY(kind, node, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS names(kind INTEGER PRIMARY KEY, next INTEGER);
CREATE TABLE IF NOT EXISTS block(kind INTEGER, first INTEGER, last INTEGER, data TEXT);
CREATE INDEX IF NOT EXISTS block_span ON block(kind, first, last);
CREATE TABLE IF NOT EXISTS day(kind INTEGER, day INTEGER, data TEXT);
CREATE INDEX IF NOT EXISTS day_of ON day(kind, day);
CREATE TABLE IF NOT EXISTS state(begin INTEGER, node TEXT, first INTEGER, edge INTEGER, data TEXT,
  PRIMARY KEY(begin, node)) WITHOUT ROWID;
PRAGMA user_version = 2;
)";
// So many parts of a day are made one. A pull of each hour would otherwise leave 24.
constexpr std::int64_t kDayParts = 8;
constexpr std::size_t kMostCached = 300'000;

std::int64_t Number(CellKind kind) { return static_cast<std::int64_t>(kind); }

tl::unexpected<Error> Damaged(const char* what) {
  return Fail(std::string("the fleet's ledger has ") + what + "; run idleburn fleet pull --rebuild");
}

}  // namespace

struct MonthFile::NewBlocks {
  std::map<std::tuple<CellKind, std::int64_t, std::int64_t>, std::vector<CellRow>> hours;
  std::map<std::pair<CellKind, std::int64_t>, std::vector<CellRow>> days;
};

Result<MonthFile> MonthFile::On(SqliteDatabase database) {
  SqliteStatement find = TRY(database.Prepare("SELECT id FROM name WHERE kind = ? AND node = ? AND name = ?"));
  SqliteStatement add = TRY(database.Prepare("INSERT INTO name(kind, node, name, id) VALUES(?, ?, ?, ?)"));
  return MonthFile(std::move(database), std::move(find), std::move(add));
}

Result<MonthFile> MonthFile::Open(const std::string& path, Nanos patience) {
  if (!SqliteDatabase::MayWrite(path)) {
    SqliteDatabase kept = TRY(SqliteDatabase::OpenToRead(path, path));
    return On(std::move(kept));
  }
  SqliteFault fault = SqliteFault::kNone;
  SqliteDatabase database = TRY(SqliteDatabase::OpenToWrite(path, path, patience, &fault));
  SqliteStatement version = TRY(database.Prepare("PRAGMA user_version"));
  TRY(version.Step());
  if (version.Integer(0).value_or(0) < 2) TRY(database.ExecuteAll(kMonthTables));
  return On(std::move(database));
}

Result<void> MonthFile::ForEachBlock(CellKind kind, const CellQuery& query,
                                     const std::function<Result<void>(CellBlock&)>& take) {
  // Where the blocks lie, in the order of time: SQLite would sort their data with them.
  struct BlockPlace {
    std::int64_t from, to;
    bool day;
    std::int64_t row;
  };
  std::vector<BlockPlace> places;
  // A span within a day that is read as a sum is left out.
  SqliteStatement find = TRY(database_.Prepare(
      "SELECT first, last, 0, rowid FROM block WHERE kind = ?1 AND first < ?3 AND last > ?2 "
      "AND NOT (first >= ?4 AND last <= ?5 AND first / 86400 = (last - 1) / 86400) UNION ALL "
      "SELECT day, day + 86400, 1, rowid FROM day WHERE kind = ?1 AND day >= ?4 AND day < ?5 ORDER BY 1, 2, 4"));
  const std::array<SqliteValue, 5> values = {Number(kind), query.from, query.to, query.first_day, query.last_day};
  find.Rewind(values);
  while (TRY(find.Step())) {
    places.push_back(
        {find.Integer(0).value_or(0), find.Integer(1).value_or(0), find.Integer(2) == 1, find.Integer(3).value_or(0)});
  }
  SqliteStatement hours = TRY(database_.Prepare("SELECT data FROM block WHERE rowid = ?"));
  SqliteStatement days = TRY(database_.Prepare("SELECT data FROM day WHERE rowid = ?"));
  CellBlock block;
  for (const BlockPlace& place : places) {
    SqliteStatement& row = place.day ? days : hours;
    row.Rewind(0, place.row);
    if (!TRY(row.Step())) continue;  // another pull has made parts of a day one
    if (!ReadBlock(row.Text(0).value_or(""), &block.rows)) return Damaged("a damaged block");
    block.from = place.from;
    block.to = place.to;
    TRY(take(block));
  }
  return {};
}

Result<const std::vector<CellName>*> MonthFile::Names(CellKind kind) {
  std::vector<CellName>& names = names_[static_cast<std::size_t>(kind)];
  if (!names.empty()) return &names;
  SqliteStatement rows = TRY(database_.Prepare("SELECT node, name, id FROM name WHERE kind = ?"));
  rows.Rewind(0, Number(kind));
  while (TRY(rows.Step())) {
    auto name = NameFrom(kind, std::string(rows.Text(0).value_or("")), rows.Text(1).value_or(""));
    const std::int64_t id = rows.Integer(2).value_or(-1);
    if (!name || id < 0 || id > std::int64_t{1} << 31) return Damaged("a damaged name");
    const auto place = static_cast<std::size_t>(id);
    if (place >= names.size()) names.resize(std::max(place + 1, names.size() * 2));
    names[place] = std::move(*name);
  }
  return &names;
}

Result<std::vector<std::int64_t>> MonthFile::Begins() const {
  std::vector<std::int64_t> begins;
  SqliteStatement rows = TRY(database_.Prepare("SELECT DISTINCT begin FROM state"));
  while (TRY(rows.Step())) begins.push_back(rows.Integer(0).value_or(0));
  return begins;
}

Result<std::map<std::string, NodeMark>> MonthFile::Marks(std::int64_t begin) const {
  std::map<std::string, NodeMark> marks;
  SqliteStatement rows = TRY(database_.Prepare("SELECT node, first, edge, data FROM state WHERE begin = ?"));
  rows.Rewind(0, begin);
  while (TRY(rows.Step())) {
    marks[std::string(rows.Text(0).value_or(""))] = {rows.Integer(1).value_or(0), rows.Integer(2).value_or(0),
                                                     std::string(rows.Text(3).value_or(""))};
  }
  return marks;
}

Result<std::int64_t> MonthFile::IdOf(CellKind kind, const CellName& name) {
  IdCache& cache = caches_[static_cast<std::size_t>(kind)];
  const std::string bytes = NameBytes(kind, name);
  std::string key = name.node + '\n' + bytes;
  if (const auto known = cache.ids.find(key); known != cache.ids.end()) return known->second;
  const std::array<SqliteValue, 3> values = {Number(kind), name.node, bytes};
  find_name_.Rewind(values);
  std::int64_t id = -1;
  if (TRY(find_name_.Step())) {
    id = find_name_.Integer(0).value_or(-1);
  } else {
    if (cache.next < 0) {
      SqliteStatement next = TRY(database_.Prepare("SELECT next FROM names WHERE kind = ?"));
      next.Rewind(0, Number(kind));
      cache.next = TRY(next.Step()) ? next.Integer(0).value_or(0) : 0;
    }
    id = cache.next++;
    const std::array<SqliteValue, 4> row = {Number(kind), name.node, bytes, id};
    add_name_.Rewind(row);
    TRY(add_name_.Step());
  }
  if (cache.ids.size() >= kMostCached) cache.ids.clear();
  cache.ids.emplace(std::move(key), id);
  return id;
}

Result<void> MonthFile::Put(CellKind kind, std::int64_t from, std::int64_t to, const CellName& name,
                            const FleetTime& time, NewBlocks* blocks) {
  const std::int64_t id = TRY(IdOf(kind, name));
  blocks->hours[{kind, from, to}].push_back({id, time});
  return {};
}

// The parts of a day, made one if there are many.
Result<void> MonthFile::AddToDay(CellKind kind, std::int64_t day, std::vector<CellRow>* rows) {
  const std::array<SqliteValue, 2> place = {Number(kind), day};
  SqliteStatement parts = TRY(database_.Prepare("SELECT data FROM day WHERE kind = ? AND day = ?"));
  parts.Rewind(place);
  std::int64_t count = 0;
  while (TRY(parts.Step())) ++count;
  if (count >= kDayParts) {
    std::vector<CellRow> part;
    parts.Rewind(place);
    while (TRY(parts.Step())) {
      if (!ReadBlock(parts.Text(0).value_or(""), &part)) return Damaged("a damaged day");
      rows->insert(rows->end(), part.begin(), part.end());
    }
    TRY(database_.Execute("DELETE FROM day WHERE kind = ? AND day = ?", place));
  }
  MergeRows(rows);
  const std::array<SqliteValue, 3> values = {Number(kind), day, BlockBytes(*rows)};
  return database_.Execute("INSERT INTO day(kind, day, data) VALUES(?, ?, ?)", values);
}

Result<void> MonthFile::Keep(NewBlocks* blocks) {
  SqliteStatement insert = TRY(database_.Prepare("INSERT INTO block(kind, first, last, data) VALUES(?, ?, ?, ?)"));
  for (auto& [key, rows] : blocks->hours) {
    const auto& [kind, first, last] = key;
    MergeRows(&rows);
    const std::array<SqliteValue, 4> values = {Number(kind), first, last, BlockBytes(rows)};
    insert.Rewind(values);
    TRY(insert.Step());
    if (LedgerDay(first) != LedgerDay(last - 1)) continue;
    std::vector<CellRow>& day = blocks->days[{kind, LedgerDay(first)}];
    day.insert(day.end(), rows.begin(), rows.end());
    MergeRows(&day);
  }
  for (auto& [key, rows] : blocks->days) TRY(AddToDay(key.first, key.second, &rows));
  for (std::size_t kind = 0; kind < kCellKindCount; ++kind) {
    if (caches_[kind].next < 0) continue;
    const std::array<SqliteValue, 2> values = {static_cast<std::int64_t>(kind), caches_[kind].next};
    TRY(database_.Execute("INSERT OR REPLACE INTO names(kind, next) VALUES(?, ?)", values));
    caches_[kind].next = -1;  // another pull may add names before the next write
  }
  return {};
}

Result<void> MonthFile::AddNewestEdges(std::int64_t begin, const NodePulls& pulls,
                                       std::map<std::string, std::int64_t>* edges) const {
  SqliteStatement row = TRY(database_.Prepare("SELECT edge FROM state WHERE begin = ? AND node = ?"));
  for (const auto& [node, pull] : pulls) {
    const std::array<SqliteValue, 2> key = {begin, node};
    row.Rewind(key);
    if (!TRY(row.Step())) continue;
    std::int64_t& newest = (*edges)[node];
    newest = std::max(newest, row.Integer(0).value_or(0));
  }
  return {};
}

Result<void> MonthFile::Together(const std::function<Result<void>()>& change) {
  const auto all = [&]() -> Result<void> {
    SqliteTransaction transaction = TRY(SqliteTransaction::Begin(database_));
    TRY(change());
    return transaction.Commit();
  };
  Result<void> done = all();
  for (auto& names : names_) names.clear();
  if (!done) caches_ = {};  // ids of names that were not kept
  return done;
}

// The cells of a node's span.
Result<void> MonthFile::PutSpan(const std::string& node, const NodeSpan& span, NewBlocks* blocks) {
  const auto put = [&](CellKind kind, CellName name, const FleetTime& time) {
    name.node = node;
    return Put(kind, span.from, span.to, name, time, blocks);
  };
  const auto of_team = [](const std::string& team) { return CellName{{}, {}, {{}, {}, {}, team, {}}}; };
  for (const auto& gpu : span.gpus) TRY(put(CellKind::kGpu, {{}, gpu.uuid, {}}, gpu.time));
  for (const auto& [team, phases] : span.teams) {
    if (phases != PhaseMs{}) TRY(put(CellKind::kTeam, of_team(team), {phases, 0}));
  }
  for (const auto& [job, phases] : span.jobs) TRY(put(CellKind::kJob, {{}, {}, job}, {phases, 0}));
  for (const auto& [team, phases] : span.jobs_over) TRY(put(CellKind::kJobsOver, of_team(team), {phases, 0}));
  return {};
}

Result<void> MonthFile::Write(std::int64_t begin, const std::vector<const NodePulls::value_type*>& pulls) {
  const auto write = [&]() -> Result<void> {
    NewBlocks blocks;
    for (const NodePulls::value_type* each : pulls) {
      const auto& [node, pull] = *each;
      for (const NodeSpan& span : pull.spans) TRY(PutSpan(node, span, &blocks));
      const std::int64_t first = pull.spans.empty() ? pull.after.edge : pull.spans.front().from;
      TRY(SetMark(begin, node, {first, pull.after.edge, StateBytes(pull.after)}));
    }
    return Keep(&blocks);
  };
  return Together(write);
}

Result<void> MonthFile::AddCells(CellKind kind, std::int64_t from, std::int64_t to, const NamedCells& cells) {
  NewBlocks blocks;
  for (const auto& [name, time] : cells) TRY(Put(kind, from, to, name, time, &blocks));
  return Keep(&blocks);
}

Result<void> MonthFile::SetMark(std::int64_t begin, const std::string& node, const NodeMark& mark) {
  const std::array<SqliteValue, 5> values = {begin, node, mark.first, mark.edge, mark.state};
  return database_.Execute(
      "INSERT INTO state(begin, node, first, edge, data) VALUES(?, ?, ?, ?, ?) "
      "ON CONFLICT DO UPDATE SET edge = excluded.edge, data = excluded.data",
      values);
}

}  // namespace idleburn
