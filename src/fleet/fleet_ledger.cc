#include "fleet/fleet_ledger.h"

#include <algorithm>
#include <tuple>

#include "history/users_history.h"
#include "os/digest.h"
#include "os/folder.h"

namespace idleburn {
namespace {

constexpr const char* kLedgerTables = R"(
CREATE TABLE IF NOT EXISTS name(id INTEGER PRIMARY KEY, kind TEXT, node TEXT, uuid TEXT, cluster TEXT, job TEXT,
  user TEXT, team TEXT, experiment TEXT, UNIQUE(kind, node, uuid, cluster, job, user, team, experiment));
CREATE TABLE IF NOT EXISTS block(first INTEGER, last INTEGER, kind TEXT, part INTEGER, data BLOB,
  PRIMARY KEY(first, last, kind, part)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS began(edge INTEGER);
CREATE TABLE IF NOT EXISTS state(node TEXT PRIMARY KEY, edge INTEGER, data BLOB);
PRAGMA user_version = 1;
)";
constexpr std::array<std::string_view, 3> kCellKinds = {"gpu", "team", "job"};
std::string KindText(CellKind kind) { return std::string(kCellKinds[static_cast<std::size_t>(kind)]); }

// Integers in seven bits a byte, least first, signs folded in; texts with their length before them.
class CellWriter {
 public:
  void Put(std::int64_t value) {
    auto bits = (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
    for (; bits >= 128; bits >>= 7) bytes_ += static_cast<char>((bits & 127) | 128);
    bytes_ += static_cast<char>(bits);
  }
  void Put(const std::string& text) {
    Put(static_cast<std::int64_t>(text.size()));
    bytes_ += text;
  }
  void Put(const PhaseMs& phases) {
    for (const std::int64_t ms : phases) Put(ms);
  }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Reads the same. After an error every value is 0, and ok() is false.
class CellReader {
 public:
  explicit CellReader(std::string_view bytes) : bytes_(bytes) {}
  [[nodiscard]] bool ok() const { return ok_; }

  std::int64_t Number() {
    std::uint64_t bits = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ >= bytes_.size()) break;
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      bits |= std::uint64_t{byte & 127U} << shift;
      if (byte < 128) return static_cast<std::int64_t>(bits >> 1) ^ -static_cast<std::int64_t>(bits & 1);
    }
    ok_ = false;
    return 0;
  }
  // A count of things that each take at least a byte.
  std::size_t Count() {
    const std::int64_t count = Number();
    if (count < 0 || static_cast<std::size_t>(count) > bytes_.size() - at_) ok_ = false;
    return ok_ ? static_cast<std::size_t>(count) : 0;
  }
  std::string Text() {
    const std::size_t size = Count();
    const std::string text(bytes_.substr(at_, size));
    at_ += size;
    return text;
  }
  PhaseMs Phases() {
    PhaseMs phases{};
    for (std::int64_t& ms : phases) ms = Number();
    return phases;
  }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

std::string StateBytes(const NodeState& state) {
  CellWriter out;
  for (const auto* counters : {&state.gpus, &state.teams}) {
    out.Put(static_cast<std::int64_t>(counters->size()));
    for (const auto& [key, value] : *counters) {
      out.Put(key.first);
      out.Put(key.second);
      out.Put(value);
    }
  }
  out.Put(static_cast<std::int64_t>(state.jobs.size()));
  for (const auto& [key, booked] : state.jobs) {
    for (const std::string& part : {key.cluster, key.job, key.user, key.team, key.experiment}) out.Put(part);
    out.Put(booked.edge);
    out.Put(booked.value);
  }
  return out.Take();
}

std::optional<NodeState> StateFrom(std::int64_t edge, std::string_view bytes) {
  CellReader in(bytes);
  NodeState state;
  state.edge = edge;
  for (auto* counters : {&state.gpus, &state.teams}) {
    for (std::size_t left = in.Count(); left > 0; --left) {
      std::string name = in.Text();
      const std::int64_t epoch = in.Number();
      (*counters)[{std::move(name), epoch}] = in.Phases();
    }
  }
  for (std::size_t left = in.Count(); left > 0; --left) {
    JobKey key;
    for (std::string* part : {&key.cluster, &key.job, &key.user, &key.team, &key.experiment}) *part = in.Text();
    NodeState::Booked& booked = state.jobs[key];
    booked.edge = in.Number();
    booked.value = in.Phases();
  }
  return in.ok() ? std::optional(std::move(state)) : std::nullopt;
}

// The cells of one block before they have columns.
struct BlockCells {
  std::vector<std::pair<std::int64_t, FleetTime>> rows;  // by id

  std::string Bytes() {
    std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    CellWriter out;
    out.Put(static_cast<std::int64_t>(rows.size()));
    std::int64_t before = 0;
    for (const auto& [id, time] : rows) {
      out.Put(id - before);
      before = id;
    }
    for (std::size_t p = 0; p < kFleetPhaseCount; ++p) {
      for (const auto& [id, time] : rows) out.Put(time.phases[p]);
    }
    for (const auto& [id, time] : rows) out.Put(time.reset_ms);
    return out.Take();
  }

  static BlockCells From(std::string_view bytes, bool* ok) {
    CellReader in(bytes);
    BlockCells cells;
    cells.rows.resize(in.Count());
    std::int64_t id = 0;
    for (auto& row : cells.rows) row.first = id += in.Number();
    for (std::size_t p = 0; p < kFleetPhaseCount; ++p) {
      for (auto& row : cells.rows) row.second.phases[p] = in.Number();
    }
    for (auto& row : cells.rows) row.second.reset_ms = in.Number();
    *ok = in.ok();
    return cells;
  }
};

}  // namespace

Result<FleetLedger> FleetLedger::Open(const std::string& path, Nanos patience) {
  if (path.empty()) return Fail("fleet: there is no home folder for the ledger; give --ledger FILE");
  const std::size_t slash = path.rfind('/');
  if (slash != std::string::npos && slash > 0) TRY(MakePrivateFolder(path.substr(0, slash)));
  SqliteFault fault = SqliteFault::kNone;
  SqliteDatabase database = TRY(SqliteDatabase::OpenToWrite(path, path, patience, &fault));
  TRY(database.ExecuteAll(kLedgerTables));
  FleetLedger ledger(std::move(database));
  TRY(ledger.LoadNames());
  return ledger;
}

void FleetLedger::SetName(std::int64_t id, CellName name) {
  const auto place = static_cast<std::size_t>(id);
  if (place >= names_.size()) names_.resize(place + 1);
  names_[place] = std::move(name);
}

Result<void> FleetLedger::LoadNames() {
  names_.clear();
  ids_.clear();
  SqliteStatement rows =
      TRY(database_.Prepare("SELECT id, kind, node, uuid, cluster, job, user, team, experiment FROM name"));
  while (TRY(rows.Step())) {
    NameText text;
    for (std::size_t i = 0; i < text.size(); ++i) text[i] = rows.Text(static_cast<int>(i) + 1).value_or("");
    const std::int64_t id = rows.Integer(0).value_or(0);
    SetName(id, {text[1], text[2], {text[3], text[4], text[5], text[6], text[7]}});
    ids_[std::move(text)] = id;
  }
  return {};
}

Result<std::int64_t> FleetLedger::IdOf(CellKind kind, const CellName& name) {
  const JobKey& owner = name.owner;
  const NameText text = {KindText(kind), name.node,  name.uuid,  owner.cluster,
                         owner.job,      owner.user, owner.team, owner.experiment};
  if (const auto known = ids_.find(text); known != ids_.end()) return known->second;
  const std::vector<SqliteValue> values(text.begin(), text.end());
  TRY(database_.Execute(
      "INSERT INTO name(kind, node, uuid, cluster, job, user, team, experiment) VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
      values));
  const std::int64_t id = database_.LastRowId();
  SetName(id, name);
  ids_[text] = id;
  return id;
}

Result<std::map<std::string, NodeState>> FleetLedger::States() const {
  std::map<std::string, NodeState> states;
  SqliteStatement rows = TRY(database_.Prepare("SELECT node, edge, data FROM state"));
  while (TRY(rows.Step())) {
    const std::string node(rows.Text(0).value_or(""));
    std::optional<NodeState> state = StateFrom(rows.Integer(1).value_or(0), rows.Text(2).value_or(""));
    if (!state) return Fail("the ledger's state of node " + node + " is damaged; run idleburn fleet pull --rebuild");
    states[node] = std::move(*state);
  }
  return states;
}

Result<void> FleetLedger::WriteBlocks(const std::map<std::string, NodePull>& pulls) {
  std::map<std::tuple<std::int64_t, std::int64_t, CellKind>, BlockCells> blocks;
  for (const auto& [node, pull] : pulls) {
    for (const NodeSpan& span : pull.spans) {
      const auto put = [&](CellKind kind, const CellName& name, const FleetTime& time) -> Result<void> {
        blocks[{span.from, span.to, kind}].rows.emplace_back(TRY(IdOf(kind, name)), time);
        return {};
      };
      for (const auto& gpu : span.gpus) TRY(put(CellKind::kGpu, {node, gpu.uuid, {}}, gpu.time));
      for (const auto& [team, phases] : span.teams) {
        TRY(put(CellKind::kTeam, {node, {}, {{}, {}, {}, team, {}}}, {phases, 0}));
      }
      for (const auto& [job, phases] : span.jobs) TRY(put(CellKind::kJob, {node, {}, job}, {phases, 0}));
    }
  }
  for (auto& [key, cells] : blocks) {
    const auto& [first, last, kind] = key;
    const std::array<SqliteValue, 6> values = {first, last, KindText(kind), cells.Bytes(), first, last};
    TRY(
        database_.Execute("INSERT INTO block(first, last, kind, part, data) SELECT ?1, ?2, ?3, "
                          "(SELECT COUNT(*) FROM block WHERE first = ?5 AND last = ?6 AND kind = ?3), ?4",
                          values));
  }
  return {};
}

Result<std::int64_t> FleetLedger::Write(const std::map<std::string, NodePull>& pulls) {
  SqliteTransaction transaction = TRY(SqliteTransaction::Begin(database_));
  TRY(LoadNames());  // of another pull
  std::map<std::string, NodePull> due;
  SqliteStatement edge = TRY(database_.Prepare("SELECT edge FROM state WHERE node = ?"));
  for (const auto& [node, pull] : pulls) {
    const std::array<SqliteValue, 1> name = {node};
    edge.Rewind(name);
    const bool known = TRY(edge.Step());
    const std::optional<std::int64_t> now = known ? edge.Integer(0) : std::nullopt;
    if (now == pull.edge_before) due.emplace(node, pull);
  }
  TRY(WriteBlocks(due));
  for (const auto& [node, pull] : due) {
    const std::array<SqliteValue, 3> values = {node, pull.after.edge, StateBytes(pull.after)};
    TRY(database_.Execute("INSERT OR REPLACE INTO state(node, edge, data) VALUES(?, ?, ?)", values));
  }
  TRY(transaction.Commit());
  return static_cast<std::int64_t>(due.size());
}

Result<void> FleetLedger::ForEach(CellKind kind, std::int64_t from, std::int64_t to,
                                  const std::function<void(const LedgerCell&)>& take) {
  SqliteStatement rows = TRY(database_.Prepare(
      "SELECT first, last, data FROM block WHERE kind = ?1 AND first < ?3 AND last > ?2 ORDER BY first, last, part"));
  const std::array<SqliteValue, 3> values = {KindText(kind), from, to};
  rows.Rewind(values);
  LedgerCell cell;
  while (TRY(rows.Step())) {
    cell.from = rows.Integer(0).value_or(0);
    cell.to = rows.Integer(1).value_or(0);
    bool ok = false;
    const BlockCells cells = BlockCells::From(rows.Text(2).value_or(""), &ok);
    if (!ok) return Fail("a block of the fleet's ledger is damaged; run idleburn fleet pull --rebuild");
    for (const auto& [id, time] : cells.rows) {
      const auto place = static_cast<std::size_t>(id);
      if (id < 0 || place >= names_.size()) {
        return Fail("the fleet's ledger lacks a name; run idleburn fleet pull --rebuild");
      }
      cell.id = place;
      cell.name = &names_[place];
      cell.time = time;
      take(cell);
    }
  }
  return {};
}

Result<std::optional<std::int64_t>> FleetLedger::Begin() const {
  SqliteStatement row = TRY(database_.Prepare("SELECT edge FROM began"));
  if (!TRY(row.Step())) return std::optional<std::int64_t>();
  return row.Integer(0);
}

Result<void> FleetLedger::Restart(std::int64_t begin) {
  SqliteTransaction transaction = TRY(SqliteTransaction::Begin(database_));
  for (const char* table : {"name", "block", "state", "began"}) {
    TRY(database_.Execute(std::string("DELETE FROM ") + table));
  }
  const std::array<SqliteValue, 1> edge = {begin};
  TRY(database_.Execute("INSERT INTO began(edge) VALUES(?)", edge));
  TRY(transaction.Commit());
  return LoadNames();
}

std::string FleetLedgerFile(const std::string& engine_url) {
  const std::string folder = UserDataFolder();
  if (folder.empty()) return {};
  return folder + "/fleet/" + Sha256Hex(engine_url).substr(0, 16) + ".sqlite";
}

}  // namespace idleburn
