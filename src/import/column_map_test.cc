#include "import/column_map.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

using Map = std::map<std::string, std::string>;

template <typename T>
std::string Message(const Result<T>& result) {
  return result ? std::string("no error") : result.error().message;
}

BoundColumn Bind(const std::string& role, const std::string& column, const std::vector<std::string>& header) {
  Map columns = {{"time", "#1"}, {"util", "#1"}};
  columns[role] = column;
  const auto bound = BindColumns(columns, header, header.size(), "t.csv:1");
  EXPECT_TRUE(bound) << Message(bound);
  for (const BoundColumn& c : *bound) {
    if (c.role->name == role) return c;
  }
  return {};
}

std::string BindError(const std::string& role, const std::string& column, const std::vector<std::string>& header) {
  Map columns = {{"time", "#1"}, {"util", "#1"}};
  columns[role] = column;
  return Message(BindColumns(columns, header, header.size(), "t.csv:1"));
}

TEST(ColumnMapTest, TablesHoldTogether) {
  for (const ColumnAlias& alias : ColumnAliases()) EXPECT_NE(FindColumnRole(alias.role), nullptr) << alias.name;
  for (const ColumnRole& role : ColumnRoles()) {
    if (role.kind != ColumnKind::kSignal) continue;
    EXPECT_NE(FindColumnUnit(role.unit, Info(role.signal).unit), nullptr) << role.name;
  }
}

TEST(ColumnMapTest, ReadsTheFlag) {
  EXPECT_EQ(
      ParseColumns("time=timestamp,gpu=container,util=value,power=watts,memory=bytes").value(),
      (Map{{"time", "timestamp"}, {"gpu", "container"}, {"util", "value"}, {"power", "watts"}, {"memory", "bytes"}}));
  EXPECT_EQ(ParseColumns(" time:ms = t , util=u:ratio, ").value(), (Map{{"time", "t:ms"}, {"util", "u:ratio"}}));
  EXPECT_EQ(ParseColumns("util=\"a, \"\"b\"\"\":ratio,time=\"x\"").value(),
            (Map{{"util", "a, \"b\":ratio"}, {"time", "x"}}));
  EXPECT_EQ(ParseColumns("util=a=b").value(), (Map{{"util", "a=b"}}));
}

TEST(ColumnMapTest, RefusesWhatItDoesNotKnow) {
  EXPECT_NE(Message(ParseColumns("utli=value")).find("unknown role 'utli'; did you mean 'util'?"), std::string::npos);
  EXPECT_EQ(Message(ParseColumns("zzzzzzzzzzz=value")).find("did you mean"), std::string::npos);
  EXPECT_NE(Message(ParseColumns("time:sec=t")).find("time has no unit 'sec'; use one of s, ms"), std::string::npos);
  EXPECT_NE(Message(ParseColumns("gpu:w=t")).find("gpu has no unit 'w'; it takes none"), std::string::npos);
  EXPECT_NE(Message(ParseColumns("time")).find("'time' is not ROLE=COLUMN"), std::string::npos);
  EXPECT_NE(Message(ParseColumns("time=")).find("is not ROLE=COLUMN"), std::string::npos);
  EXPECT_NE(Message(ParseColumns("time=a,time=b")).find("time is given twice"), std::string::npos);
  EXPECT_EQ(ParseColumns("utli=value").error().kind, Error::Kind::kUsage);
}

TEST(ColumnMapTest, FindsColumnsByNameAndPosition) {
  const std::vector<std::string> header = {"ts", " util:ratio", "power.draw [W]", "Temp", "mem (bytes)"};
  EXPECT_EQ(Bind("util", "util:ratio", header).position, 1U);  // a whole name wins over a unit
  EXPECT_TRUE(Bind("util", "util:ratio", header).unit_assumed);
  EXPECT_EQ(Bind("power", "power.draw", header).position, 2U);
  EXPECT_EQ(Bind("power", "power.draw [W]:mw", header).unit->name, "mw");
  EXPECT_EQ(Bind("temperature", "temp", header).position, 3U);
  EXPECT_EQ(Bind("memory", "#5:kib", header).unit->name, "kib");
  EXPECT_EQ(Bind("memory", "#5", header).name, "mem (bytes)");
  EXPECT_NE(BindError("power", "watts", header)
                .find("t.csv:1: no such column (--columns power=watts); the columns are: "
                      "ts, util:ratio, power.draw [W], Temp, mem (bytes)"),
            std::string::npos);
  EXPECT_NE(BindError("power", "#6", header).find("no column '#6'; columns: 5"), std::string::npos);
  EXPECT_NE(BindError("power", "#0", header).find("no column '#0'"), std::string::npos);
  EXPECT_NE(BindError("power", "Temp:mhz", header).find("power has no unit 'mhz'"), std::string::npos);
  EXPECT_NE(BindError("gpu", "a", {"a", "b", "a"}).find("name it by position, #1 or #3"), std::string::npos);
  EXPECT_NE(Message(BindColumns({{"time", "#1"}}, {}, 3, "t")).find("one signal"), std::string::npos);
  EXPECT_NE(Message(BindColumns({{"util", "#1"}}, {}, 3, "t")).find("the time"), std::string::npos);
}

TEST(ColumnMapTest, TakesTheUnitThatTheHeaderCarries) {
  const std::vector<std::string> header = {"time_ms",           "util_ratio", "power_mw",    "bytes",
                                           "memory.used [MiB]", "clock",      "Energy (kWh)"};
  EXPECT_EQ(Bind("time", "time_ms", header).time, TimeForm::kMillis);
  EXPECT_EQ(Bind("time", "time_ms:s", header).time, TimeForm::kSeconds);
  EXPECT_EQ(Bind("util", "util_ratio", header).unit->name, "ratio");
  EXPECT_FALSE(Bind("util", "util_ratio", header).unit_assumed);
  EXPECT_EQ(Bind("power", "power_mw", header).unit->name, "mw");
  EXPECT_EQ(Bind("memory", "bytes", header).unit->name, "bytes");
  EXPECT_EQ(Bind("memory_total", "memory.used [MiB]", header).unit->name, "mib");
  EXPECT_EQ(Bind("energy", "Energy (kWh)", header).unit->name, "kwh");
  EXPECT_EQ(Bind("sm_clock", "clock", header).unit->name, "mhz");
  EXPECT_TRUE(Bind("sm_clock", "clock", header).unit_assumed);
}

// The unit belongs to the metric: DCGM 4.6 calls per cent a ratio, and jobstats a ratio per cent.
TEST(ColumnMapTest, AMetricsNameSaysItsUnitAndNotItsLastWord) {
  const std::vector<std::string> header = {"DCGM_FI_DEV_GPU_UTIL_RATIO",
                                           "dcgm_fi_dev_gpu_util_ratio",
                                           "DCGM_FI_DEV_GPU_UTIL_RATIO{gpu=\"0\"}",
                                           "DCGM_FI_PROF_SM_UTIL_RATIO",
                                           "nvidia_smi_utilization_gpu_ratio",
                                           "nvidia_gpu_graphics_util_percent",
                                           "DCGM_FI_DEV_GPU_UTIL_RATIO [ratio]",
                                           "gpu_utilization"};
  const std::vector<std::string> units = {"percent", "percent", "percent", "ratio",
                                          "ratio",   "ratio",   "ratio",   "percent"};
  for (std::size_t i = 0; i < header.size(); ++i) {
    const BoundColumn column = Bind("util", "#" + std::to_string(i + 1), header);
    EXPECT_EQ(column.unit->name, units[i]) << header[i];
    EXPECT_EQ(column.unit_assumed, header[i] == "gpu_utilization") << header[i];  // anybody's word
  }
  EXPECT_EQ(Bind("util", "DCGM_FI_DEV_GPU_UTIL_RATIO:ratio", {header[0]}).unit->name, "ratio");  // the user's word
  EXPECT_EQ(Bind("power", "DCGM_FI_DEV_BOARD_POWER_WATTS", {"DCGM_FI_DEV_BOARD_POWER_WATTS"}).unit->name, "w");
  const auto bound = RecognizeColumns(std::vector<std::string>{"Time", "DCGM_FI_DEV_GPU_UTIL_RATIO"});
  ASSERT_TRUE(bound);
  EXPECT_EQ(bound->back().unit->name, "percent");
}

TEST(ColumnMapTest, RecognizesUsualNames) {
  const std::vector<std::string> smi = {"timestamp",           "index",          "uuid",
                                        "utilization.gpu [%]", "power.draw [W]", "fan.speed [%]"};
  const auto bound = RecognizeColumns(smi);
  ASSERT_TRUE(bound);
  std::map<std::string, std::size_t> positions;
  for (const BoundColumn& c : *bound) positions[std::string(c.role->name)] = c.position;
  EXPECT_EQ(positions,
            (std::map<std::string, std::size_t>{{"time", 0}, {"gpu", 1}, {"uuid", 2}, {"util", 3}, {"power", 4}}));
  EXPECT_TRUE(RecognizeColumns(std::vector<std::string>{"util", "ts"}));
  EXPECT_FALSE(RecognizeColumns(std::vector<std::string>{"time", "value"}));
  EXPECT_FALSE(RecognizeColumns(std::vector<std::string>{"util", "gpu"}));
  EXPECT_TRUE(NamesOnlyPositions({{"time", "#1:s"}, {"util", " #2"}}));
  EXPECT_FALSE(NamesOnlyPositions({{"time", "#1"}, {"util", "u"}}));
}

}  // namespace
}  // namespace idleburn
