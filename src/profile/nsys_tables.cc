#include "profile/nsys_tables.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "os/input_file.h"
#include "os/temporary_file.h"
#include "text/escape.h"

namespace idleburn {
namespace {

// The least bytes that a row takes in a SQLite file: a pointer to its cell, its size and number, a header.
constexpr std::int64_t kSmallestRow = 5;
// Bytes of a file's head that tell a SQLite database.
constexpr std::size_t kSniffed = 16;

// What a database of another program holds, for the error message.
std::string OtherTables(const std::vector<std::string>& tables) {
  constexpr std::size_t kNamed = 5;
  if (tables.empty()) return "it has no tables";
  std::string names = "its tables: ";
  for (std::size_t i = 0; i < std::min(tables.size(), kNamed); ++i) {
    names += (i == 0 ? "" : ", ") + Printable(std::string_view(tables[i]).substr(0, 60));
  }
  return names + (tables.size() > kNamed ? ", ..." : "");
}

}  // namespace

// A compressed file has the name of a plain one but not its bytes, so the head decides whether the name can be
// opened. The temporary copy is deleted at the end of this function; the open database keeps its contents.
Result<NsysDatabase> NsysDatabase::Open(ByteSource& in) {
  const std::optional<SeekableFile> plain = SeekableFile::Open(in.name());
  std::optional<SpooledFile> spooled;
  std::string path = in.name();
  if (!plain || !SniffSqlite(plain->Head(kSniffed))) {
    SpooledFile copy = TRY(SpooledFile::Of(in));
    path = copy.path();
    spooled.emplace(std::move(copy));
  }
  SqliteDatabase database = TRY(SqliteDatabase::OpenToRead(path, in.name()));
  NsysDatabase opened(std::move(database), in.name());
  TRY(opened.ReadSchema());
  return opened;
}

// Learns tables and columns. Two tables that every export has tell whether the database is one.
Result<void> NsysDatabase::ReadSchema() {
  const std::vector<std::string> tables = TRY(database_.Tables());
  for (const std::string& table : tables) {
    const std::vector<std::string> columns = TRY(database_.Columns(table));
    tables_.emplace(table, std::set<std::string>(columns.begin(), columns.end()));
  }
  if (!Has("StringIds") && !Has("META_DATA_EXPORT")) {
    return Fail(name_ + ": is a SQLite database, but not of Nsight Systems (" + OtherTables(tables) +
                "); make one with: nsys export --type sqlite REPORT.nsys-rep");
  }
  if (Has("StringIds", "id") && Has("StringIds", "value")) {
    SqliteStatement strings = TRY(database_.Prepare("SELECT value FROM StringIds WHERE id = ?"));
    strings_.emplace(std::move(strings));
  }
  const std::int64_t size = TRY(database_.Size());
  most_rows_ = size / kSmallestRow;
  return {};
}

bool NsysDatabase::Has(std::string_view table, std::string_view column) const {
  const auto found = tables_.find(table);
  return found != tables_.end() && found->second.count(std::string(column)) != 0;
}

Result<void> NsysDatabase::ForEach(std::string_view table, std::initializer_list<std::string_view> columns,
                                   const TakeRow& take) {
  if (!Has(table)) return {};
  std::string sql;
  for (const std::string_view column : columns) {
    sql += (sql.empty() ? "SELECT " : ", ") + (Has(table, column) ? SqliteName(column) : "NULL");
  }
  return ForEachOf(sql + " FROM " + SqliteName(table), take);
}

// SQLite does not notice pages that form a loop. The size of the file bounds the number of rows.
Result<void> NsysDatabase::ForEachOf(std::string_view query, const TakeRow& take) {
  SqliteStatement statement = TRY(database_.Prepare(query));
  for (std::int64_t rows = 0; rows <= most_rows_; ++rows) {
    const bool more = TRY(statement.Step());
    if (!more) return {};
    TRY(take(statement));
  }
  return Fail(name_ + ": the database is damaged (its pages point at one another); copy it again or make it anew");
}

Result<std::string> NsysDatabase::Text(std::int64_t id) {
  if (!strings_) return std::string();
  strings_->Rewind(0, id);
  const bool found = TRY(strings_->Step());
  return std::string(found ? strings_->Text(0).value_or("") : "");
}

}  // namespace idleburn
