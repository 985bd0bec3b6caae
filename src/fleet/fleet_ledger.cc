#include "fleet/fleet_ledger.h"

#include <algorithm>
#include <filesystem>

#include "history/users_history.h"
#include "os/digest.h"
#include "text/strings.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

constexpr const char* kIndexTables = R"(
CREATE TABLE IF NOT EXISTS reach(begin INTEGER PRIMARY KEY, through INTEGER);
PRAGMA user_version = 2;
)";
constexpr std::string_view kIndexFile = "index.sqlite";
constexpr std::string_view kMonthEnding = ".sqlite";
// A node that shows nothing for 40 days starts again, so its newest state lies in the newest three months.
constexpr std::size_t kMonthsOfStates = 3;
// A span over the end of a month is kept where it ends, at most so much later.
constexpr std::int64_t kLongestSpan = 41 * kDaySeconds;

bool IsMonth(std::string_view file) {
  constexpr std::string_view kForm = "0000-00.sqlite";
  return file.size() == kForm.size() && file.ends_with(kMonthEnding) && file[4] == '-' &&
         file.find_first_not_of("0123456789") == 4;
}

Result<void> MakeLedgerFolder(const std::string& path) {
  if (path.empty()) return Fail("fleet: there is no home folder for the ledger; give --ledger FOLDER");
  if (std::filesystem::is_regular_file(path)) {
    return Fail(Printable(path) + ": the ledger is a folder, and this is a file; name another --ledger");
  }
  return MakePrivateFolder(path);
}

}  // namespace

std::int64_t LedgerCell::MsInside(std::int64_t begin, std::int64_t end) const {
  return time.TotalMs() * (std::min(to, end) - std::max(from, begin)) / (to - from);
}

void CellSums::Add(const LedgerCell& cell, const FleetTime& time) {
  if (cell.id >= times_.size()) {
    times_.resize(cell.id + 1);
    names_.resize(cell.id + 1, nullptr);
  }
  times_[cell.id].Add(time);
  names_[cell.id] = cell.name;
}

std::string MonthOf(std::int64_t edge) { return FormatUnixDay(edge - 1).substr(0, 7); }

Result<FleetLedger> FleetLedger::Open(const std::string& path, Nanos patience) {
  TRY(MakeLedgerFolder(path));
  const std::string file = path + "/" + std::string(kIndexFile);
  SqliteFault fault = SqliteFault::kNone;
  SqliteDatabase index = TRY(SqliteDatabase::OpenToWrite(file, file, patience, &fault));
  TRY(index.ExecuteAll(kIndexTables));
  return FleetLedger(path, patience, std::move(index));
}

Result<FleetLedger> FleetLedger::OpenToPull(const std::string& path, Nanos patience) {
  TRY(MakeLedgerFolder(path));
  FolderLock lock = TRY(FolderLock::TakeBeside(path, true, patience));
  FleetLedger ledger = TRY(Open(path, patience));
  ledger.lock_.emplace(std::move(lock));
  return ledger;
}

Result<FolderLock> FleetLedger::LockToReplace(const std::string& path, Nanos patience) {
  TRY(MakeLedgerFolder(path));
  return FolderLock::TakeBeside(path, false, patience);
}

std::vector<std::string> FleetLedger::Months() const {
  std::vector<std::string> months;
  for (const std::string& name : NamesIn(folder_)) {
    if (IsMonth(name)) months.push_back(name.substr(0, name.size() - kMonthEnding.size()));
  }
  return months;
}

Result<MonthFile*> FleetLedger::Month(const std::string& name) {
  auto month = open_.find(name);
  if (month == open_.end()) {
    MonthFile opened = TRY(MonthFile::Open(folder_ + "/" + name + std::string(kMonthEnding), patience_));
    month = open_.emplace(name, std::move(opened)).first;
  }
  return &month->second;
}

// Ids of a month follow those of the month before.
Result<void> FleetLedger::Read(CellKind kind, const CellQuery& query, const TakeCell& take) {
  const std::string oldest = MonthOf(query.from + 1);
  const std::string newest = MonthOf(std::min(query.to, kLedgerEnd) + kLongestSpan);
  std::size_t base = 0;
  MonthFile* month = nullptr;
  const std::vector<CellName>* names = nullptr;
  LedgerCell cell;
  const auto take_block = [&](CellBlock& block) -> Result<void> {
    if (names == nullptr) names = TRY(month->Names(kind));
    cell.from = block.from;
    cell.to = block.to;
    for (const CellRow& row : block.rows) {
      const auto place = static_cast<std::size_t>(row.id);
      if (row.id < 0 || place >= names->size()) {
        return Fail("the fleet's ledger lacks a name; run idleburn fleet pull --rebuild");
      }
      cell.id = base + place;
      cell.name = &(*names)[place];
      cell.time = row.time;
      take(cell);
    }
    return {};
  };
  for (const std::string& name : Months()) {
    if (name < oldest || name > newest) continue;
    month = TRY(Month(name));
    names = nullptr;
    TRY(month->ForEachBlock(kind, query, take_block));
    if (names != nullptr) base += names->size();
  }
  return {};
}

Result<void> FleetLedger::ForEach(CellKind kind, std::int64_t from, std::int64_t to, const TakeCell& take) {
  return Read(kind, {from, to, 0, 0}, take);
}

Result<void> FleetLedger::ForEachDay(CellKind kind, std::int64_t from, std::int64_t to, const TakeCell& take) {
  const std::int64_t first = (from + kDaySeconds - 1) / kDaySeconds * kDaySeconds;
  return Read(kind, {from, to, first, to / kDaySeconds * kDaySeconds}, take);
}

// The states name their reaches too, so an index that was lost takes nothing with it.
Result<std::vector<LedgerReach>> FleetLedger::Reaches() {
  std::map<std::int64_t, std::int64_t> through;
  for (const std::string& name : Months()) {
    const MonthFile* const month = TRY(Month(name));
    const std::vector<std::int64_t> of_month = TRY(month->Begins());
    for (const std::int64_t begin : of_month) through[begin] = 0;
  }
  SqliteStatement rows = TRY(index_.Prepare("SELECT begin, through FROM reach"));
  while (TRY(rows.Step())) through[rows.Integer(0).value_or(0)] = rows.Integer(1).value_or(0);
  std::vector<LedgerReach> reaches;
  for (const auto& [begin, edge] : through) {
    if (!reaches.empty()) reaches.back().end = begin;
    reaches.push_back({begin, std::nullopt, edge});
  }
  return reaches;
}

Result<void> FleetLedger::MoveReach(std::int64_t begin, std::int64_t through) {
  const std::array<SqliteValue, 2> values = {begin, through};
  return index_.Execute(
      "INSERT INTO reach(begin, through) VALUES(?1, ?2) ON CONFLICT DO UPDATE SET through = max(through, ?2)", values);
}

Result<std::map<std::string, NodeMark>> FleetLedger::Marks(std::int64_t begin) {
  std::map<std::string, NodeMark> marks;
  const std::vector<std::string> months = Months();
  std::size_t read = 0;
  for (auto name = months.crbegin(); name != months.crend() && read < kMonthsOfStates; ++name) {
    const MonthFile* const month = TRY(Month(*name));
    std::map<std::string, NodeMark> of_month = TRY(month->Marks(begin));
    if (!of_month.empty()) ++read;
    for (auto& [node, mark] : of_month) {
      const auto [known, fresh] = marks.try_emplace(node, std::move(mark));
      if (!fresh) known->second.first = std::min(known->second.first, mark.first);
    }
  }
  return marks;
}

Result<std::map<std::string, std::int64_t>> FleetLedger::FirstEdges(std::int64_t begin) {
  std::map<std::string, std::int64_t> firsts;
  for (const std::string& name : Months()) {
    const MonthFile* const month = TRY(Month(name));
    const std::map<std::string, NodeMark> of_month = TRY(month->Marks(begin));
    for (const auto& [node, mark] : of_month) {
      const auto [known, fresh] = firsts.try_emplace(node, mark.first);
      if (!fresh) known->second = std::min(known->second, mark.first);
    }
  }
  return firsts;
}

// The newest edge of each of these nodes in any month. Edges so old that a node started again since do not count.
Result<std::map<std::string, std::int64_t>> FleetLedger::NewestEdges(std::int64_t begin, const NodePulls& pulls) {
  std::map<std::string, std::int64_t> edges;
  std::int64_t first = pulls.begin()->second.after.edge;
  for (const auto& [node, pull] : pulls) first = std::min(first, pull.after.edge);
  const std::string oldest = MonthOf(first - kLongestSpan);
  for (const std::string& name : Months()) {
    if (name < oldest) continue;
    const MonthFile* const month = TRY(Month(name));
    TRY(month->AddNewestEdges(begin, pulls, &edges));
  }
  std::erase_if(edges, [&](const auto& each) {
    const NodePull& pull = pulls.at(each.first);
    return !pull.edge_before && each.second < pull.after.edge - kLongestSpan;
  });
  return edges;
}

// Two months are two files, so the index's lock keeps other pulls away between the look and the writing.
Result<std::set<std::string>> FleetLedger::Write(std::int64_t begin, const NodePulls& pulls) {
  std::set<std::string> moved;
  if (pulls.empty()) return moved;
  const std::string month = MonthOf(pulls.begin()->second.after.edge);
  for (const auto& [node, pull] : pulls) {
    CHECK(MonthOf(pull.after.edge) == month);
    for (const NodeSpan& span : pull.spans) CHECK(MonthOf(span.to) == month);
  }
  SqliteTransaction alone = TRY(SqliteTransaction::Begin(index_));
  const std::map<std::string, std::int64_t> edges = TRY(NewestEdges(begin, pulls));
  std::vector<const NodePulls::value_type*> due;
  for (const auto& each : pulls) {
    const auto edge = edges.find(each.first);
    if (edge == edges.end() || edge->second == each.second.edge_before) {
      due.push_back(&each);
    } else {
      moved.insert(each.first);
    }
  }
  MonthFile* const open = TRY(Month(month));
  TRY(open->Write(begin, due));
  TRY(alone.Commit());
  return moved;
}

Result<std::int64_t> FleetLedger::Size() {
  std::int64_t bytes = TRY(index_.Size());
  for (const std::string& name : Months()) {
    const MonthFile* const month = TRY(Month(name));
    bytes += TRY(month->Size());
  }
  return bytes;
}

std::string FleetLedgerFolder(const std::string& engine_url) {
  const std::string folder = UserDataFolder();
  if (folder.empty()) return {};
  return folder + "/fleet/" + Sha256Hex(engine_url).substr(0, 16);
}

}  // namespace idleburn
