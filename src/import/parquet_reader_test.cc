#include "import/parquet_reader.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>

#include "import/duckdb_query.h"
#include "places.h"
#include "support/property.h"

namespace idleburn {
namespace {

using Column = std::vector<std::optional<std::string>>;
using Rows = std::vector<Column>;  // column after column

std::optional<std::string> CellOf(const TableVector& vector, TableType type, std::size_t row) {
  if (vector.IsNull(row)) return std::nullopt;
  if (type == TableType::kText) return std::string(vector.Text(row));
  if (type != TableType::kReal) return std::to_string(vector.Get<std::int64_t>(row));
  const double value = vector.Get<double>(row);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return value != value ? "nan" : std::to_string(bits);
}

Result<Rows> ReadAll(TableStream& stream) {
  Rows rows(stream.columns().size());
  while (true) {
    const std::unique_ptr<TableChunk> chunk = TRY(stream.Next());
    if (chunk == nullptr) return rows;
    for (std::size_t c = 0; c < rows.size(); ++c) {
      const TableVector vector = chunk->Vector(c);
      for (std::size_t i = 0; i < chunk->rows(); ++i) {
        rows[c].push_back(CellOf(vector, stream.columns()[c].type, i));
      }
    }
  }
}

std::string BytesOf(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void Overwrite(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// Positions of what our reader covers by itself, each in its own form.
std::vector<ParquetReader::Selection> Covered(const ParquetReader& reader) {
  std::vector<ParquetReader::Selection> covered;
  for (std::size_t i = 0; i < reader.columns().size(); ++i) {
    const ParquetReader::Selection one{i, reader.columns()[i].type};
    if (reader.Read(std::span(&one, 1)) != nullptr) covered.push_back(one);
  }
  return covered;
}

std::string SqlOf(const std::string& column, TableType form) {
  const std::string name = SqlName(column);
  switch (form) {
    case TableType::kInteger:
      return "TRY_CAST(" + name + " AS BIGINT)";
    case TableType::kReal:
      return name + "::DOUBLE";
    case TableType::kText:
      return name + "::VARCHAR";
    default:
      return name;
  }
}

class ParquetReaderTest : public testing::Test {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<DuckDbConnection>> opened = OpenDuckDb(1);
    if (!opened) GTEST_SKIP() << opened.error().message;
    duckdb_ = std::move(*opened);
    // Files are changed in place here.
    for (const char* const off : {"SET enable_external_file_cache = false", "SET enable_object_cache = false"}) {
      EXPECT_TRUE(duckdb_->Query(off));
    }
    folder_ = std::filesystem::temp_directory_path() / ("idleburn_parquet_reader_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  std::string Write(const std::string& select, const std::string& options = "") {
    std::string path = (folder_ / "t.parquet").string();
    auto copy = duckdb_->Query("COPY (" + select + ") TO " + SqlText(path) + " (FORMAT parquet" + options + ")");
    EXPECT_TRUE(copy) << copy.error().message;
    while (copy && (*copy)->Next().value() != nullptr) {
    }
    return path;
  }

  // What DuckDB, which knows nothing of our reader, gives for the same selection.
  Result<Rows> Twin(const std::string& path, const std::vector<StreamColumn>& columns,
                    const std::vector<ParquetReader::Selection>& selected) {
    std::string sql = "SELECT ";
    for (const ParquetReader::Selection& s : selected) sql += SqlOf(columns[s.position].name, s.form) + ", ";
    auto stream = TRY(duckdb_->Query(sql.substr(0, sql.size() - 2) + " FROM read_parquet(" + SqlText(path) + ")"));
    return ReadAll(*stream);
  }

  // The columns that our reader covers, after comparing all of their values.
  std::set<std::string> ExpectTwins(const std::string& path) {
    const std::optional<SeekableFile> file = SeekableFile::Open(path);
    const std::optional<ParquetReader> reader = ParquetReader::Open(*file);
    EXPECT_TRUE(reader) << path;
    if (!reader) return {};
    auto described = duckdb_->Query("SELECT * FROM read_parquet(" + SqlText(path) + ") LIMIT 0");
    EXPECT_TRUE(described) << described.error().message;
    const std::vector<StreamColumn>& theirs = (*described)->columns();
    EXPECT_EQ(theirs.size(), reader->columns().size());
    std::vector<ParquetReader::Selection> selected = Covered(*reader);
    if (selected.empty()) return {};
    std::set<std::string> names;
    for (const ParquetReader::Selection& s : selected) {
      EXPECT_EQ(theirs[s.position].name, reader->columns()[s.position].name);
      EXPECT_EQ(theirs[s.position].type, s.form) << theirs[s.position].name;
      names.insert(theirs[s.position].name);
    }
    for (std::size_t i = 0, count = selected.size(); i < count; ++i) {
      if (selected[i].form == TableType::kInteger) selected.push_back({selected[i].position, TableType::kText});
    }
    const std::unique_ptr<TableStream> stream = reader->Read(selected);
    const Result<Rows> ours = ReadAll(*stream);
    EXPECT_TRUE(ours) << ours.error().message;
    const Result<Rows> twin = Twin(path, reader->columns(), selected);
    EXPECT_TRUE(twin) << twin.error().message;
    for (std::size_t c = 0; ours && twin && c < selected.size(); ++c) {
      EXPECT_EQ((*ours)[c].size(), (*twin)[c].size());
      EXPECT_TRUE((*ours)[c] == (*twin)[c]) << reader->columns()[selected[c].position].name << " of " << path;
    }
    return names;
  }

  std::unique_ptr<DuckDbConnection> duckdb_;
  std::filesystem::path folder_;
};

// A column of each type: x is any 64-bit number.
struct Kind {
  const char* name;
  const char* sql;
};
constexpr Kind kKinds[] = {
    {"i8", "((x % 256)::INT - 128)::TINYINT"},
    {"i16", "((x % 65536)::INT - 32768)::SMALLINT"},
    {"i32", "((x % 4294967296)::BIGINT - 2147483648)::INTEGER"},
    {"i64", "(x // 2)::BIGINT * (CASE WHEN x % 2 = 0 THEN 1 ELSE -1 END)"},
    {"u8", "(x % 256)::UTINYINT"},
    {"u16", "(x % 65536)::USMALLINT"},
    {"u32", "(x % 4294967296)::UINTEGER"},
    {"u64", "x"},
    {"f32", "CASE x % 50 WHEN 0 THEN 'nan'::FLOAT WHEN 1 THEN '-inf'::FLOAT ELSE (x % 100000)::FLOAT / 7 END"},
    {"f64", "CASE x % 50 WHEN 0 THEN 'nan'::DOUBLE WHEN 1 THEN 'inf'::DOUBLE ELSE x::DOUBLE / 7 END"},
    {"seconds", "make_timestamp((x % 4000)::BIGINT * 1000000)::TIMESTAMP_S"},
    {"millis", "make_timestamp((x % 4000000000000)::BIGINT * 1000 - 2000000000000000)::TIMESTAMP_MS"},
    {"micros", "make_timestamp((x % 4000000000000000)::BIGINT - 2000000000000000)"},
    {"nanos", "make_timestamp_ns((x // 4)::BIGINT - 2000000000000000)"},
    {"zoned", "to_timestamp((x % 4000000000)::BIGINT - 2000000000)"},
    {"text", "repeat('abé', (x % 9)::INT) || x % 100"},
};

struct Shape {
  int rows = 0;
  int percent_null = 0;
  int distinct = 1;
  int seed = 0;
};

std::string SelectOf(const Shape& shape) {
  std::string inner;
  std::string outer;
  int number = 0;
  for (const Kind& kind : kKinds) {
    const std::string n = std::to_string(++number + 100 * shape.seed);
    const std::string name = kind.name;
    std::string sql = kind.sql;
    for (std::size_t at = 0; (at = sql.find('x', at)) != std::string::npos; at += 4 + name.size()) {
      sql.replace(at, 1, "x_" + name + "  ");
    }
    inner += ", hash(hash(i + " + n + ") % " + std::to_string(shape.distinct) + ") AS x_" + name;
    outer += std::string(outer.empty() ? "" : ", ") + "CASE WHEN hash(i * 7 + " + n +
             ") % 100 >= " + std::to_string(shape.percent_null) + " THEN " + sql + " END AS " + name;
  }
  return "SELECT " + outer + " FROM (SELECT i" + inner + " FROM range(" + std::to_string(shape.rows) + ") r(i))";
}

TEST_F(ParquetReaderTest, GivesWhatDuckDbGives) {
  test::ExpectProperty("ours and DuckDB's reader agree on every value", [this]() {
    Shape shape;
    shape.rows = *rc::gen::oneOf(rc::gen::element(0, 1, 2048, 2049), rc::gen::inRange(0, 9000));
    shape.percent_null = *rc::gen::element(0, 0, 1, 50, 100);
    shape.distinct = *rc::gen::element(1, 2, 3, 100, 2000, 1'000'000'000);
    shape.seed = *rc::gen::inRange(0, 1'000'000);
    const auto packing = *rc::gen::element<std::string>("uncompressed", "snappy", "gzip", "zstd");
    const auto version = *rc::gen::element<std::string>("V1", "V2");
    const auto group = *rc::gen::element<std::string>("2048", "6144", "122880");
    const std::string path = Write(
        SelectOf(shape), ", COMPRESSION " + packing + ", PARQUET_VERSION " + version + ", ROW_GROUP_SIZE " + group);
    const std::size_t covered = ExpectTwins(path).size();
    // Version 2 has encodings for reals and texts that are not ours.
    RC_ASSERT(covered >= std::size(kKinds) - (version == "V2" ? 3 : 0));
    RC_ASSERT(!testing::Test::HasFailure());
  });
}

// Seeds of the fuzzer, among them files of another writer: many small pages, of both versions.
TEST_F(ParquetReaderTest, GivesWhatDuckDbGivesOfOtherWriters) {
  const std::filesystem::path corpus = IDLEBURN_ROOT "/fuzz/corpus/parquet_reader";
  std::size_t covered = 0;
  for (const std::string name :
       {"pages_v1_plain", "pages_v1_snappy", "pages_v2_delta", "pages_v2_gzip", "pages_v2_zstd"}) {
    const std::set<std::string> names = ExpectTwins((corpus / name).string());
    EXPECT_EQ(names.size(), 11U) << name;
    covered += names.size();
  }
  EXPECT_EQ(covered, 55U);
  EXPECT_TRUE(ExpectTwins((corpus / "pages_v2_brotli").string()).empty());
}

TEST_F(ParquetReaderTest, LeavesTheRestToDuckDb) {
  const auto open = [](const std::string& path) { return ParquetReader::Open(*SeekableFile::Open(path)); };
  EXPECT_FALSE(open(Write("SELECT 1 AS a, [1, 2] AS b")));
  EXPECT_FALSE(open(Write("SELECT 1 AS a, {'c': 2} AS b")));
  EXPECT_TRUE(ExpectTwins(Write("SELECT 1 AS a", ", COMPRESSION lz4_raw")).empty());
  EXPECT_TRUE(ExpectTwins(Write("SELECT 1 AS a", ", COMPRESSION brotli")).empty());
  const std::string types =
      "SELECT 1 AS a, 2::DECIMAL(9,2) AS b, DATE '2025-01-01' AS c, TIME '10:00' AS d, true AS e, 'x'::BLOB AS f, "
      "uuid() AS g, INTERVAL 1 DAY AS h, 3::HUGEINT AS i, 'm'::ENUM('m', 'n') AS j";
  const std::set<std::string> one = ExpectTwins(Write(types));
  EXPECT_EQ(one.count("a"), 1U);
  EXPECT_EQ(one.count("b") + one.count("c") + one.count("d") + one.count("e") + one.count("f"), 0U);
  EXPECT_EQ(ExpectTwins(Write("SELECT i AS a, random() AS b FROM range(3000) r(i)", ", PARQUET_VERSION V2")).size(),
            1U);
  // Names that DuckDB would change, which it does not write itself.
  const std::string names = Write("SELECT 1 AS once, 2 AS twice");
  std::string bytes = BytesOf(names);
  for (std::size_t at = 0; (at = bytes.find("\x04once", at)) != std::string::npos;) bytes.replace(at + 1, 4, "nine");
  Overwrite(names, bytes);
  ASSERT_TRUE(open(names));
  const std::string alike = Write("SELECT 1 AS left_, 2 AS right");
  bytes = BytesOf(alike);
  for (std::size_t at = 0; (at = bytes.find("\x05right", at)) != std::string::npos;) bytes.replace(at + 1, 5, "Left_");
  Overwrite(alike, bytes);
  EXPECT_FALSE(open(alike));
  const std::string real = Write("SELECT 1.5::DOUBLE AS a");
  const SeekableFile file = std::move(*SeekableFile::Open(real));
  const ParquetReader::Selection as_text{0, TableType::kText};
  EXPECT_EQ(ParquetReader::Open(file)->Read(std::span(&as_text, 1)), nullptr);
}

// Older writers leave out the newer form of a type (field 10 of the schema's elements; here renamed to an unknown one).
TEST_F(ParquetReaderTest, TakesTimesOfOlderWriters) {
  const std::string path = Write(
      "SELECT TIMESTAMP '2025-01-01 10:00:00.5'::TIMESTAMP_MS AS a, to_timestamp(1751581321) AS b, "
      "TIMESTAMP '2025-01-01 10:00:00.5' AS c");
  EXPECT_EQ(ExpectTwins(path).size(), 3U);
  std::string bytes = BytesOf(path);
  int changed = 0;
  for (std::size_t at = 0; (at = bytes.find("\x4c\x8c", at)) != std::string::npos; ++changed) bytes[at] = '\x5c';
  ASSERT_EQ(changed, 3);
  Overwrite(path, bytes);
  EXPECT_EQ(ExpectTwins(path).size(), 3U);
}

// A file in memory whose bytes can be changed in place.
class Editable {
 public:
  explicit Editable(const std::string& path) : fd_(memfd_create("parquet", MFD_CLOEXEC)), bytes_(BytesOf(path)) {
    Restore();
  }
  ~Editable() { close(fd_); }
  Editable(const Editable&) = delete;
  Editable& operator=(const Editable&) = delete;

  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  void Change(std::size_t at, char mask) const {
    const char changed = static_cast<char>(bytes_[at] ^ mask);
    ASSERT_EQ(pwrite(fd_, &changed, 1, static_cast<off_t>(at)), 1);
  }
  void Cut(std::size_t at) const { ASSERT_EQ(ftruncate(fd_, static_cast<off_t>(at)), 0); }
  void Restore() const { ASSERT_EQ(pwrite(fd_, bytes_.data(), bytes_.size(), 0), static_cast<ssize_t>(bytes_.size())); }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
  std::string bytes_;
};

// Of every column by itself: its rows, or a clear error; nothing where DuckDB is asked.
std::vector<Result<Rows>> ReadEach(const std::string& path, std::vector<ParquetReader::Selection>& selected,
                                   std::vector<StreamColumn>& columns) {
  std::vector<Result<Rows>> each;
  selected.clear();
  const std::optional<SeekableFile> file = SeekableFile::Open(path);
  const std::optional<ParquetReader> reader = ParquetReader::Open(*file);
  if (!reader) return each;
  columns = reader->columns();
  selected = Covered(*reader);
  for (const ParquetReader::Selection& s : selected) {
    Result<Rows> rows = ReadAll(*reader->Read(std::span(&s, 1)));
    if (!rows) {
      EXPECT_EQ(rows.error().message.find("column '"), 0U) << rows.error().message;
      EXPECT_EQ(rows.error().message.find('\n'), std::string::npos);
    }
    each.push_back(std::move(rows));
  }
  return each;
}

TEST_F(ParquetReaderTest, TakesDamageAnywhere) {
  std::vector<ParquetReader::Selection> selected;
  std::vector<StreamColumn> columns;
  for (const std::string name : {"pages_v1_snappy", "pages_v1_plain", "pages_v2_delta", "pages_v2_zstd"}) {
    const Editable file(IDLEBURN_ROOT "/fuzz/corpus/parquet_reader/" + name);
    std::size_t errors = 0;
    std::size_t compared = 0;
    for (std::size_t at = 0; at < file.size(); at += name == "pages_v1_snappy" ? 1U : 13U) {
      file.Change(at, static_cast<char>(at % 3 == 0 ? 0xFF : 1 << at % 8));
      const std::vector<Result<Rows>> each = ReadEach(file.path(), selected, columns);
      for (std::size_t i = 0; i < each.size(); ++i) {
        errors += each[i] ? 0U : 1U;
        // Damage that cannot be told from other values must look so to DuckDB too; but zstd's own versions differ in
        // what they make of damage.
        if (!each[i] || at % 91 != 0 || name == "pages_v2_zstd") continue;
        const Result<Rows> twin = Twin(file.path(), columns, {selected[i]});
        compared += twin ? 1U : 0U;
        if (twin) {
          EXPECT_TRUE(*each[i] == *twin) << name << ": " << columns[selected[i].position].name << " at " << at;
        }
      }
      file.Restore();
    }
    EXPECT_GT(errors, file.size() / 100) << name;
    EXPECT_TRUE(compared > 50 || name == "pages_v2_zstd") << name;
    for (std::size_t at = 0; at < file.size(); at += 101) {
      file.Cut(at);
      EXPECT_TRUE(ReadEach(file.path(), selected, columns).empty()) << at;
      file.Restore();
    }
  }
}

TEST_F(ParquetReaderTest, AFileMadeShorterWhileItIsReadIsAnError) {
  const std::string path = Write("SELECT i AS \"a\nb\" FROM range(100000) r(i)", ", ROW_GROUP_SIZE 2048");
  const SeekableFile file = std::move(*SeekableFile::Open(path));
  const std::optional<ParquetReader> reader = ParquetReader::Open(file);
  const ParquetReader::Selection all{0, TableType::kInteger};
  const std::unique_ptr<TableStream> stream = reader->Read(std::span(&all, 1));
  ASSERT_TRUE(stream->Next());
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  const Result<Rows> rest = ReadAll(*stream);
  ASSERT_FALSE(rest);
  EXPECT_NE(rest.error().message.find("column 'a?b': the Parquet page at byte "), std::string::npos);
  EXPECT_NE(rest.error().message.find("cannot be read; copy or write the file again"), std::string::npos);
}

}  // namespace
}  // namespace idleburn
