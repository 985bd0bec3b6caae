#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "import/column_map.h"
#include "import/duckdb_query.h"
#include "import/formats.h"
#include "os/input_file.h"
#include "text/line_reader.h"

namespace idleburn {
namespace {

class Collected final : public SampleSink {
 public:
  void OnSamples(std::span<const Sample> samples) override { all.insert(all.end(), samples.begin(), samples.end()); }
  std::vector<Sample> all;
};

bool Contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(ParquetTest, NeedsAPlainFile) {
  EXPECT_TRUE(SniffParquet("PAR1\x15"));
  EXPECT_FALSE(SniffParquet("PAR"));
  DeviceTable devices;
  DataQuality quality;
  OwnerLedger owners;
  Collected sink;
  ImportTarget target{devices, quality, owners, sink};
  StringSource pipe("PAR1", "standard input");
  const Result<void> done = ImportParquet(pipe, {}, target);
  ASSERT_FALSE(done);
  EXPECT_TRUE(Contains(done.error().message, "standard input: Parquet is read by position, which needs a plain file"));
}

// Parquet files written by DuckDB into a folder of their own.
class ParquetFileTest : public testing::Test {
 protected:
  struct Imported {
    Result<void> result;
    DeviceTable devices;
    DataQuality quality;
    OwnerLedger owners;
    Collected sink;
    [[nodiscard]] std::string Message() const { return result ? "no error" : result.error().message; }
    [[nodiscard]] std::int64_t Count(QualityId id) const { return quality.CountOf(id); }
  };

  void SetUp() override {
    Result<std::unique_ptr<DuckDbConnection>> opened = OpenDuckDb(1);
    if (!opened) GTEST_SKIP() << opened.error().message;
    connection_ = std::move(*opened);
    folder_ = std::filesystem::temp_directory_path() / ("idleburn_parquet_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  std::string Write(const std::string& select, const std::string& name = "t.parquet", const std::string& more = "") {
    const std::string path = (folder_ / name).string();
    const std::string plain = (folder_ / "plain").string();
    Result<std::unique_ptr<TableStream>> copy = connection_->Query(
        "COPY (" + select + ") TO " + SqlText(plain) + " (FORMAT parquet, ROW_GROUP_SIZE 4096" + more + ")");
    EXPECT_TRUE(copy) << copy.error().message;
    while (copy && (*copy)->Next().value() != nullptr) {
    }
    std::filesystem::rename(plain, path);
    return path;
  }

  static void Import(const std::string& path, std::string_view columns, Imported& to, ImportOptions options = {}) {
    if (!columns.empty()) options.columns = ParseColumns(columns).value();
    auto in = OpenInput(path);
    ASSERT_TRUE(in) << in.error().message;
    ImportTarget target{to.devices, to.quality, to.owners, to.sink};
    to.result = ImportParquet(**in, options, target);
  }

  std::unique_ptr<DuckDbConnection> connection_;
  std::filesystem::path folder_;
};

TEST_F(ParquetFileTest, ReadsUsualNamesInTheOrderOfTheFile) {
  const std::string path = Write(
      "SELECT TIMESTAMP '2026-09-01 00:00:00' + INTERVAL (i * 107800) MICROSECONDS AS ts, (i % 8)::UTINYINT AS gpu, "
      "(i % 101)::UTINYINT AS util, (i % 700 + 0.25)::FLOAT AS power, i AS unused FROM range(20000) r(i)");
  Imported t;
  Import(path, "", t);
  ASSERT_TRUE(t.result) << t.Message();
  ASSERT_EQ(t.sink.all.size(), 20'000U);
  EXPECT_EQ(t.devices.size(), 8U);
  const Instant start = ParseRfc3339("2026-09-01T00:00:00Z").value();
  for (std::size_t i = 0; i < t.sink.all.size(); ++i) {
    const Sample& s = t.sink.all[i];
    const auto n = static_cast<std::int64_t>(i);
    ASSERT_EQ((s.time - start).count(), n * 107'800'000);
    ASSERT_EQ(t.devices[s.device].index, static_cast<int>(i % 8));
    ASSERT_EQ(s.Get(Signal::kUtilization), n % 101 * kPercent);
    ASSERT_EQ(s.Get(Signal::kPower), n % 700 * 1000 + 250);
  }
  EXPECT_EQ(t.Count(QualityId::kTimezoneAssumed), 1);
  EXPECT_EQ(t.devices[0].counter[Index(Signal::kUtilization)], "parquet.util");
  Imported two;
  ImportOptions options;
  options.threads = 2;
  Import(path, "", two, options);
  ASSERT_EQ(two.sink.all.size(), t.sink.all.size());
  for (std::size_t i = 0; i < t.sink.all.size(); ++i) ASSERT_EQ(two.sink.all[i].time, t.sink.all[i].time);
}

TEST_F(ParquetFileTest, ReadsEveryTypeOfTime) {
  const std::vector<std::string> forms = {
      "TIMESTAMP '2025-07-03 22:22:01.444'",
      "TIMESTAMP_MS '2025-07-03 22:22:01.444'",
      "TIMESTAMP_NS '2025-07-03 22:22:01.444'",
      "TIMESTAMPTZ '2025-07-03 22:22:01.444+00'",
      "'2025/07/03 22:22:01.444'",
      "'2025-07-04T00:22:01.444+02:00'",
      "1751581321.444::DOUBLE",
      "1751581321.444::DECIMAL(18,3)",
      "1751581321444::BIGINT",
      "1751581321444000::UBIGINT",
      "1751581321444000000::BIGINT",
  };
  for (const std::string& form : forms) {
    Imported t;
    Import(Write("SELECT " + form + " AS t, 50 AS u"), "time=t,util=u", t);
    ASSERT_TRUE(t.result) << form << ": " << t.Message();
    EXPECT_EQ(t.sink.all.at(0).time.nanos(), 1'751'581'321'444'000'000) << form;
  }
  Imported berlin;
  ImportOptions options;
  options.timezone = TimeZone::Load("Europe/Berlin").value();
  Import(Write("SELECT TIMESTAMP '2025-07-04 00:22:01.444' AS t, 50 AS u"), "time=t,util=u", berlin, options);
  EXPECT_EQ(berlin.sink.all.at(0).time.nanos(), 1'751'581'321'444'000'000);
  Imported seconds;
  Import(Write("SELECT 12.5::DOUBLE AS t, 50 AS u"), "time:s=t,util=u", seconds);
  EXPECT_EQ(seconds.sink.all.at(0).time.nanos(), 12'500'000'000);
  Imported refused;
  Import(Write("SELECT 12 AS t, 50 AS u"), "time=t,util=u", refused);
  EXPECT_TRUE(Contains(refused.Message(), ":1: time '12' in column 't' is not an epoch"));
}

TEST_F(ParquetFileTest, ReadsEveryTypeOfNumber) {
  const std::vector<std::string> forms = {"78.25::FLOAT",         "78.25::DOUBLE",        "78.25::DECIMAL(5,2)",
                                          "78.25::DECIMAL(18,6)", "78.25::DECIMAL(38,4)", "'78.25 W'",
                                          "'0.07825 kW'"};
  for (const std::string& form : forms) {
    Imported t;
    Import(Write("SELECT 1751581321 AS t, " + form + " AS p"), "time=t,power=p", t);
    ASSERT_TRUE(t.result) << form << ": " << t.Message();
    EXPECT_EQ(t.sink.all.at(0).Get(Signal::kPower), 78'250) << form;
  }
  for (const std::string type : {"TINYINT", "USMALLINT", "BIGINT", "UBIGINT", "HUGEINT", "VARCHAR"}) {
    Imported t;
    Import(Write("SELECT 1751581321 AS t, 78::" + type + " AS p"), "time=t,power=p", t);
    EXPECT_EQ(t.sink.all.at(0).Get(Signal::kPower), 78'000) << type;
  }
  Imported ratio;
  Import(Write("SELECT 1751581321 AS t, 0.53::FLOAT AS u"), "time=t,util=u", ratio);
  EXPECT_TRUE(Contains(ratio.Message(), "'u' never exceeds 1: percent or ratio?"));
}

TEST_F(ParquetFileTest, KeepsWhatHasNoValueApart) {
  const std::string path = Write(
      "SELECT * FROM (VALUES (1751581321, 0, 5.0::DOUBLE), (1751581322, 0, NULL), (1751581323, 0, 'nan'::DOUBLE), "
      "(1751581324, 0, 250), (1751581325, 0, 140737488355328.0), (NULL, 0, 5), (1751581327, NULL, 5), "
      "(1751581328, -1, 5)) v(t, g, u)");
  Imported t;
  Import(path, "time=t,gpu=g,util=u", t);
  ASSERT_TRUE(t.result) << t.Message();
  EXPECT_EQ(t.sink.all.size(), 6U);
  EXPECT_EQ(t.Count(QualityId::kUnavailableValue), 1);
  EXPECT_EQ(t.Count(QualityId::kNotFinite), 1);
  EXPECT_EQ(t.Count(QualityId::kOutOfRange), 1);
  EXPECT_EQ(t.Count(QualityId::kSentinelValue), 1);
  EXPECT_EQ(t.Count(QualityId::kBadRow), 2);
  EXPECT_EQ(t.quality.Get(QualityId::kBadRow).first_place, path + ":6");
}

TEST_F(ParquetFileTest, HostileNamesAreOnlyNames) {
  const std::string path = Write("SELECT 1751581321 AS \"t\"\"; DROP TABLE x; --\", 'a' AS \"g'\", 50 AS \"u,:ratio\"",
                                 "it's [a-z]*\"; SELECT 1.parquet");
  Imported t;
  Import(path, "time=#1,gpu=g',util=\"u,:ratio\"", t);
  ASSERT_TRUE(t.result) << t.Message();
  EXPECT_EQ(t.sink.all.at(0).Get(Signal::kUtilization), 50 * kPercent);
  EXPECT_EQ(t.devices[0].name, "a");
}

TEST_F(ParquetFileTest, TellsDevicesApartByText) {
  const std::string path = Write(
      "SELECT 1751581321000 + i // 3 AS timestamp, i % 3 AS index, "
      "'GPU-5d1e000' || (i % 3) || '-0000-4000-8000-000000abc000' AS uuid, 'NVIDIA H100' AS name, "
      "(i % 101)::VARCHAR || ' %' AS \"utilization.gpu [%]\" FROM range(9000) r(i)");
  Imported t;
  Import(path, "", t);
  ASSERT_TRUE(t.result) << t.Message();
  ASSERT_EQ(t.devices.size(), 3U);
  EXPECT_EQ(t.devices[2].uuid, "GPU-5d1e0002-0000-4000-8000-000000abc000");
  EXPECT_EQ(t.devices[2].index, 2);
  EXPECT_EQ(t.devices[2].name, "NVIDIA H100");
  EXPECT_EQ(t.sink.all.size(), 9000U);
  EXPECT_EQ(t.sink.all[150].Get(Signal::kUtilization), 49 * kPercent);
}

// What our own reader covers and what DuckDB reads in its place must look alike from here.
TEST_F(ParquetFileTest, ReadsTheSameWithEitherReader) {
  const std::string log =
      "SELECT TIMESTAMP '2026-09-01 00:00:00' + INTERVAL (i // 8) SECOND AS timestamp, (i % 8)::UTINYINT AS index, "
      "'GPU-5d1e000' || (i % 8) || '-0000-4000-8000-000000abc000' AS uuid, "
      "CASE WHEN i % 13 > 0 THEN (i % 101)::UTINYINT END AS \"utilization.gpu\", "
      "CASE WHEN i = 5000 THEN -5 ELSE i * 7 % 700 + 0.25 END::FLOAT AS \"power.draw\"";  // -5 in a dictionary
  const std::string from = " FROM range(9000) r(i)";
  Imported ours;
  Import(Write(log + from), "", ours);
  ASSERT_TRUE(ours.result) << ours.Message();
  ASSERT_EQ(ours.sink.all.size(), 9000U);
  const std::string nested = Write(log + ", [i] AS more" + from, "nested.parquet");
  const std::string brotli = Write(log + from, "brotli.parquet", ", COMPRESSION brotli");
  const std::string lz4 = Write(log + from, "lz4.parquet", ", COMPRESSION lz4_raw");
  for (const std::string& path : {nested, brotli, lz4}) {
    Imported theirs;
    Import(path, "", theirs);
    ASSERT_TRUE(theirs.result) << path << ": " << theirs.Message();
    ASSERT_EQ(theirs.sink.all.size(), ours.sink.all.size()) << path;
    EXPECT_EQ(theirs.devices.size(), ours.devices.size()) << path;
    EXPECT_EQ(theirs.Count(QualityId::kUnavailableValue), ours.Count(QualityId::kUnavailableValue)) << path;
    EXPECT_EQ(theirs.Count(QualityId::kOutOfRange), 1) << path;
    EXPECT_EQ(ours.Count(QualityId::kOutOfRange), 1) << path;
    for (std::size_t i = 0; i < ours.sink.all.size(); ++i) {
      const Sample& a = ours.sink.all[i];
      const Sample& b = theirs.sink.all[i];
      ASSERT_TRUE(a.time == b.time && a.device == b.device && a.present == b.present) << path << ":" << i + 1;
      ASSERT_TRUE(!a.Has(Signal::kUtilization) || a.Get(Signal::kUtilization) == b.Get(Signal::kUtilization));
      ASSERT_TRUE(!a.Has(Signal::kPower) || a.Get(Signal::kPower) == b.Get(Signal::kPower)) << path << ":" << i + 1;
    }
  }
}

TEST_F(ParquetFileTest, DropsOnlyTheRowWhoseTimeIsInfinite) {
  const Instant start = ParseRfc3339("2026-09-01T00:00:00Z").value();
  for (const std::string divisor : {"8", "1"}) {  // with a dictionary of times, and without
    const std::string time = "TIMESTAMP '2026-09-01 00:00:00' + INTERVAL (i // " + divisor + ") SECOND";
    const std::string some =
        "CASE WHEN i = 5000 THEN TIMESTAMP 'infinity' ELSE " + time + " END AS t, i % 8 AS g, 50 AS u";
    Imported t;
    Import(Write("SELECT " + some + " FROM range(9000) r(i)"), "time=t,gpu=g,util=u", t);
    ASSERT_TRUE(t.result) << t.Message();
    ASSERT_EQ(t.sink.all.size(), 8999U);
    EXPECT_EQ((t.sink.all[5000].time - start).count(), 5001 / std::stoll(divisor) * 1'000'000'000);
  }
}

TEST_F(ParquetFileTest, NamesTheFileWhosePagesAreDamaged) {
  const std::string path = Write("SELECT 1751581321 + i AS t, 50 AS u FROM range(9000) r(i)", "damaged.parquet");
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4);
    file.write("\0\0\0\0", 4);  // where the first page starts
  }
  for (const int threads : {1, 2}) {
    Imported t;
    ImportOptions options;
    options.threads = threads;
    Import(path, "time=t,util=u", t, options);
    EXPECT_TRUE(Contains(t.Message(), path + ": column 't': the Parquet page at byte 4 ")) << t.Message();
  }
}

TEST_F(ParquetFileTest, StopsEarlyOnAnyNumberOfThreads) {
  const std::string path = Write("SELECT 1751581321 + i % 100 * 1000000000000 AS t, 50 AS u FROM range(1000000) r(i)");
  for (const int threads : {1, 2, 4}) {
    Imported t;
    ImportOptions options;
    options.threads = threads;
    Import(path, "time=t,util=u", t, options);
    EXPECT_TRUE(Contains(t.Message(), "has a different unit from the rows before it")) << t.Message();
  }
}

TEST_F(ParquetFileTest, SaysWhatIsWrong) {
  const std::string path = Write("SELECT 1 AS a, 2 AS b");
  Imported t;
  Import(path, "", t);
  EXPECT_TRUE(Contains(t.Message(), path + ": no known column names"));
  EXPECT_TRUE(Contains(t.Message(), "(columns: a, b)"));
  Imported missing;
  Import(path, "time=a,util=c", missing);
  EXPECT_TRUE(Contains(missing.Message(), "no such column (--columns util=c); the columns are: a, b"));
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  Imported torn;
  Import(path, "time=a,util=b", torn);
  ASSERT_FALSE(torn.result);
  EXPECT_TRUE(Contains(torn.Message(), path));
  EXPECT_FALSE(Contains(torn.Message(), "/proc/self")) << torn.Message();
  EXPECT_FALSE(Contains(torn.Message(), "\n"));
}

}  // namespace
}  // namespace idleburn
