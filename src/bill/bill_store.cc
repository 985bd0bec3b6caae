#include "bill/bill_store.h"

#include <filesystem>

#include "bill/bill_value.h"
#include "bill/store_writer.h"
#include "history/users_history.h"
#include "os/folder.h"
#include "os/output_file.h"
#include "text/strings.h"

namespace idleburn {
namespace {

constexpr const char* kStoreMemory = "1GB";

// An amount as the database prints it: "47546.205000000".
Result<Money> MoneyText(const std::string& text) { return text.empty() ? Money() : Money::Parse(text); }

std::int64_t CountText(const std::string& text) { return ParseBillNumber(text).nano / 1'000'000'000; }

// Removes earlier rows of the accounts and billing periods of an import. Returns how many.
Result<std::int64_t> RemoveRestated(DuckDbConnection& database, const std::string& mine) {
  const std::string restated =
      "(SELECT id FROM item WHERE (BillingAccountId, BillingPeriodStart) IN (SELECT DISTINCT BillingAccountId, "
      "BillingPeriodStart FROM item WHERE import = " +
      mine + "))";
  const std::string where = " FROM charge WHERE import <> " + mine + " AND item IN " + restated;
  const auto removed = TRY(TextRows(database, "SELECT count(*)" + where));
  TRY(database.Execute("DELETE" + where));
  return CountText(removed.front().front());
}

// Removes rows of an import that earlier files have, and findings without their row. The n-th copy of a row is repeated
// if earlier files have n copies. Returns how many rows.
Result<std::int64_t> RemoveRepeated(DuckDbConnection& database, const std::string& mine) {
  TRY(database.Execute(
      "CREATE OR REPLACE TEMP TABLE repeated AS WITH old AS (SELECT hash, count(*) AS copies FROM charge WHERE import "
      "<> " +
      mine +
      " GROUP BY hash), mine AS (SELECT line, hash, row_number() OVER (PARTITION BY hash ORDER BY line) AS copy " +
      "FROM charge WHERE import = " + mine +
      " AND hash IN (SELECT hash FROM old)) SELECT line FROM mine JOIN old USING (hash) WHERE copy <= copies"));
  const auto repeated = TRY(TextRows(database, "SELECT count(*) FROM repeated"));
  for (const char* table : {"charge", "finding"}) {
    TRY(database.Execute(std::string("DELETE FROM ") + table + " WHERE import = " + mine +
                         " AND line IN (SELECT line FROM repeated)"));
  }
  TRY(database.Execute("DELETE FROM finding WHERE import <> " + mine +
                       " AND (import, line) NOT IN (SELECT import, line FROM charge) AND item IS NOT NULL"));
  return CountText(repeated.front().front());
}

}  // namespace

Result<std::vector<std::vector<std::string>>> TextRows(DuckDbConnection& database, const std::string& sql) {
  const std::unique_ptr<TableStream> stream = TRY(database.Query("SELECT COLUMNS(*)::VARCHAR FROM (" + sql + ")"));
  std::vector<std::vector<std::string>> rows;
  const std::size_t columns = stream->columns().size();
  while (const std::unique_ptr<TableChunk> chunk = TRY(stream->Next())) {
    for (std::size_t row = 0; row < chunk->rows(); ++row) {
      std::vector<std::string>& cells = rows.emplace_back();
      for (std::size_t c = 0; c < columns; ++c) {
        const TableVector vector = chunk->Vector(c);
        cells.emplace_back(vector.IsNull(row) ? std::string_view() : vector.Text(row));
      }
    }
  }
  return rows;
}

Result<void> BillStore::Begin(const DuckDbPlace& place) {
  Result<std::unique_ptr<DuckDbConnection>> connection = OpenDuckDbAt(place, "bill");
  if (!connection) {
    const std::string& why = connection.error().message;
    if (why.find("lock") != std::string::npos) {
      return Fail(place.path + ": another program uses this store of bills; wait for it, or name another with --store");
    }
    return Fail(why.starts_with("bill ") ? why : place.path + ": " + why);
  }
  connection_ = std::move(*connection);
  path_ = place.path;
  for (const std::string& table : StoreTables()) TRY(connection_->Execute(table));
  return {};
}

Result<BillStore> BillStore::Open(const std::string& path, int threads) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (!folder.empty()) TRY(MakePrivateFolder(folder));
  BillStore store;
  TRY(store.Begin({path, path + ".spill", kStoreMemory, threads}));
  CloseFileToOthers(path);
  return store;
}

Result<BillStore> BillStore::OpenScratch(int threads) {
  auto folder = std::make_shared<ScratchFolder>(TRY(ScratchFolder::Make("")));
  const std::string path = folder->path() + "/bill.duckdb";
  BillStore store;
  store.scratch_ = folder;
  TRY(store.Begin({path, path + ".spill", kStoreMemory, threads}));
  return store;
}

Result<bool> BillStore::IsKnown(const std::string& sha256) {
  return !TRY(TextRows(*connection_, "SELECT id FROM import WHERE sha256 = " + SqlText(sha256))).empty();
}

Result<BillImport> BillStore::Import(const std::string& path, BillReadOptions options, bool replace) {
  BillImport done;
  std::error_code unknown;
  const std::uintmax_t size = path == "-" ? 0 : std::filesystem::file_size(path, unknown);
  const std::string bytes = std::to_string(unknown ? 0 : size);
  // Only a file of the same size can be the same file, so others are not read twice.
  if (!TRY(TextRows(*connection_, "SELECT id FROM import WHERE bytes = " + bytes)).empty() && path != "-") {
    done.file.name = path;
    done.file.sha256 = TRY(Sha256OfFile(path));
    done.known = TRY(IsKnown(done.file.sha256));
    if (done.known) return done;
  }
  const std::vector<std::string> next = TRY(TextRows(*connection_,
                                                     "SELECT (SELECT coalesce(max(id), 0) + 1 FROM import), "
                                                     "(SELECT coalesce(max(id), 0) + 1 FROM item)"))
                                            .front();
  const std::int64_t id = CountText(next[0]);
  options.first_item = CountText(next[1]);

  TRY(connection_->Execute("BEGIN"));
  const auto import = [&]() -> Result<void> {
    const std::unique_ptr<StoreWriter> writer = TRY(StoreWriter::Begin(*connection_, id));
    done.file = TRY(ReadBill(path, options, *writer));
    TRY(writer->Finish());
    done.known = TRY(IsKnown(done.file.sha256));
    if (done.known) return {};
    done.rules = writer->Rules();
    const std::string mine = std::to_string(id);
    if (replace) done.replaced = TRY(RemoveRestated(*connection_, mine));
    if (id > 1) done.repeated = TRY(RemoveRepeated(*connection_, mine));
    const BillFileFacts& file = done.file;
    const bool tags = file.present[Index(FocusColumn::kTags)];
    std::string values = mine + ", " + SqlText(file.name) + ", " + SqlText(file.sha256) + ", " + SqlText(file.format) +
                         ", current_timestamp::TIMESTAMP, " + bytes;
    for (const std::int64_t count : {file.rows, file.malformed, file.rounded, file.no_amount, file.no_zone}) {
      values += ", " + std::to_string(count);
    }
    TRY(connection_->Execute("INSERT INTO import VALUES (" + values + (tags ? ", true)" : ", false)")));
    for (const RuleCount& rule : done.rules) {
      TRY(connection_->Execute("INSERT INTO rule_count VALUES (" + mine + ", " + SqlText(Facts(rule.rule).name) + ", " +
                               std::to_string(rule.rows) + ", " + std::to_string(rule.first_line) + ")"));
    }
    return {};
  };
  const Result<void> imported = import();
  if (!imported || done.known) {
    static_cast<void>(connection_->Execute("ROLLBACK"));
    if (!imported) return tl::unexpected<Error>(imported.error());
    return done;
  }
  TRY(connection_->Execute("COMMIT"));
  return done;
}

Result<std::vector<CurrencySum>> BillStore::Sums() {
  std::vector<CurrencySum> sums;
  for (const auto& row :
       TRY(TextRows(*connection_,
                    "SELECT BillingCurrency, count(*), sum(BilledCost), sum(EffectiveCost) FROM charges GROUP BY ALL "
                    "ORDER BY count(*) DESC"))) {
    sums.push_back({row[0], CountText(row[1]), TRY(MoneyText(row[2])), TRY(MoneyText(row[3]))});
  }
  return sums;
}

std::string UsersBillStore() {
  const std::string folder = UserDataFolder();
  return folder.empty() ? std::string() : folder + "/bill/bill.duckdb";
}

}  // namespace idleburn
