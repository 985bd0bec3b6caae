// Whose a row is: inputs that leave it open which GPU, model or machine a reading is of. Each is read right, or refused
// in one line that says what settles it.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "support/program.h"
#include "support/smi_log.h"

namespace idleburn::testing {
namespace {

using nlohmann::json;

constexpr int kRows = 400;

// A row at a second, of GPU 0 or 1.
using RowText = std::function<std::string(int second, int gpu)>;

struct Table {
  const char* name;
  std::string head;
  std::string columns;
  RowText row;
  bool grouped = false;  // all rows of GPU 0, then those of GPU 1
};

std::string TextOf(const Table& table) {
  std::string text = table.head + "\n";
  for (int outer = 0; outer < (table.grouped ? 2 : kRows); ++outer) {
    for (int inner = 0; inner < (table.grouped ? kRows : 2); ++inner) {
      text += table.grouped ? table.row(inner, outer) : table.row(outer, inner);
    }
  }
  return text;
}

std::string Percent(int gpu) { return gpu == 0 ? "95" : "5"; }
std::string At(int second, const char* decimals = "") { return std::to_string(UnixSeconds(second)) + decimals; }

const std::vector<Table>& MixedTables() {
  static const std::vector<Table> kTables = {
      {"one stamp", "t,u", "time=t,util=u", [](int s, int g) { return At(s) + "," + Percent(g) + "\n"; }},
      {"sweeps", "t,u", "time=t,util=u",
       [](int s, int g) { return At(s, g == 0 ? ".000" : ".020") + "," + Percent(g) + "\n"; }},
      {"grouped", "t,u", "time=t,util=u", [](int s, int g) { return At(s) + "," + Percent(g) + "\n"; }, true},
      {"grouped sweeps", "t,u", "time=t,util=u",
       [](int s, int g) { return At(s, g == 0 ? ".000" : ".020") + "," + Percent(g) + "\n"; }, true},
      {"of a host", "h,t,u", "time=t,util=u,host=h",
       [](int s, int g) { return "n1," + At(s) + "," + Percent(g) + "\n"; }},
      {"of a model", "m,t,u", "time=t,util=u,name=m",
       [](int s, int g) { return "A100," + At(s) + "," + Percent(g) + "\n"; }},
      {"of two models", "m,t,u", "time=t,util=u,name=m",
       [](int s, int g) { return (g == 0 ? "A100," : "H100,") + At(s, g == 0 ? "" : ".5") + "," + Percent(g) + "\n"; }},
  };
  return kTables;
}

TEST(WhoseRowsTest, ATableOfSeveralGpusWithoutTheirColumnIsRefused) {
  const TempFolder folder;
  for (const Table& table : MixedTables()) {
    const std::string path = folder.Write("table.csv", TextOf(table));
    const ProgramRun run = RunIdleburn("audit --columns " + table.columns + " " + path);
    EXPECT_EQ(run.code, 1) << table.name << "\n" << run.out;
    EXPECT_NE(run.err.find("no column says which GPU a row is of"), std::string::npos) << table.name << "\n" << run.err;
    EXPECT_NE(run.err.find("--columns gpu=NAME"), std::string::npos) << table.name << "\n" << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << table.name << "\n" << run.err;
    // Whoever says so has it as one GPU.
    EXPECT_EQ(RunIdleburn("audit --gpus 1 --columns " + table.columns + " " + path).code, 0) << table.name;
  }
}

TEST(WhoseRowsTest, TheSameRowsOfOneGpuAHostAreRead) {
  const TempFolder folder;
  const std::vector<Table> tables = {
      {"two hosts", "h,t,u", "time=t,util=u,host=h",
       [](int s, int g) { return (g == 0 ? "n1," : "n2,") + At(s) + "," + Percent(g) + "\n"; }},
      {"two hosts, two models", "h,m,t,u", "time=t,util=u,host=h,name=m",
       [](int s, int g) { return (g == 0 ? "n1,A100," : "n2,H100,") + At(s) + "," + Percent(g) + "\n"; }},
      {"a column of GPUs", "g,t,u", "time=t,util=u,gpu=g",
       [](int s, int g) { return std::to_string(g) + "," + At(s) + "," + Percent(g) + "\n"; }, true}};
  for (const Table& table : tables) {
    const json audit =
        AuditJsonOf("--columns " + table.columns + " " + folder.Write("table.csv", TextOf(table)) + " --price 4");
    EXPECT_EQ(audit["window"]["gpus"].size(), 2U) << table.name;
    EXPECT_NEAR(audit["gpu_hours"]["window"].get<double>(), 2 * (kRows - 1) / 3600.0, 1e-3) << table.name;
  }
  const Table newest_first = {"newest first", "t,u", "time=t,util=u", [](int s, int g) {
                                return At(kRows - s, g == 0 ? ".5" : ".0") + "," + Percent(0) + "\n";
                              }};
  const json audit = AuditJsonOf("--columns time=t,util=u " + folder.Write("table.csv", TextOf(newest_first)));
  EXPECT_EQ(audit["window"]["gpus"].size(), 1U);
}

// Scrapes of one GPU, utilization all the time 90 %.
std::string Scrapes(const std::string& labels, int from = 0, const std::string& more = "") {
  std::string text;
  for (int i = 0; i < 60; ++i) {
    const std::string stamp = " " + std::to_string(UnixSeconds(from + i * 15) * 1000) + "\n";
    text += "DCGM_FI_DEV_GPU_UTIL{" + labels + "} 90" + stamp;
    if (!more.empty()) text += more + "{" + labels + "} 300" + stamp;
  }
  return text;
}
const std::string kUuid = "UUID=\"GPU-5f3a0000-4d1c-11ee-9a6b-a1b2c3d40001\"";

TEST(WhoseRowsTest, TheModelThatIsSaidReachesScrapesWithoutOne) {
  const TempFolder folder;
  const std::string nameless =
      folder.Write("nameless.txt", Scrapes("gpu=\"0\"," + kUuid, 0, "DCGM_FI_DEV_POWER_USAGE"));
  const json without = AuditJsonOf(nameless);
  EXPECT_TRUE(without["window"]["gpus"][0]["name"].is_null());
  const json said = AuditJsonOf(nameless + " --gpu-model 'NVIDIA H100 80GB HBM3'");
  EXPECT_EQ(said["window"]["gpus"][0]["name"], "NVIDIA H100 80GB HBM3");
  // Prices and limits of the model follow: 300 W of the 700 W that are published for it.
  EXPECT_EQ(said["recommendations"].dump().find("not known for this GPU"), std::string::npos);
  EXPECT_NE(said["findings"].dump().find("limit of 700 W"), std::string::npos) << said["findings"].dump(2);
  // A name that an input gives stays, also where another input of that GPU gives none.
  const std::string named =
      folder.Write("named.txt", Scrapes("gpu=\"0\",modelName=\"NVIDIA L4\"," + kUuid, 1000, "DCGM_FI_DEV_POWER_USAGE"));
  const json both = AuditJsonOf(nameless + " " + named + " --gpu-model 'NVIDIA H100 80GB HBM3'");
  ASSERT_EQ(both["window"]["gpus"].size(), 1U);
  EXPECT_EQ(both["window"]["gpus"][0]["name"], "NVIDIA L4");
}

TEST(WhoseRowsTest, OneUuidOnTwoHostsIsNeverOneGpu) {
  const TempFolder folder;
  const std::string a = folder.Write("a.txt", Scrapes("gpu=\"0\",Hostname=\"n1\"," + kUuid));
  const std::string b = folder.Write("b.txt", Scrapes("gpu=\"0\",Hostname=\"n2\"," + kUuid));
  const std::string other_way = folder.Write("0.txt", Scrapes("gpu=\"0\",Hostname=\"n2\"," + kUuid));
  const std::string later = folder.Write("later.txt", Scrapes("gpu=\"0\",Hostname=\"n2\"," + kUuid, 3600));
  const std::string same = folder.Write("same.txt", Scrapes("gpu=\"0\",Hostname=\"N1.example.org\"," + kUuid));
  for (const std::string& second : {b, other_way}) {
    const ProgramRun run = RunIdleburn("audit " + a + " " + second);
    EXPECT_EQ(run.code, 1) << run.out;
    EXPECT_NE(run.err.find("is on n1 and on n2 at the same time"), std::string::npos) << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  }
  // Agents' logs too, in one file or two.
  const auto agent = [](const std::string& host) {
    std::string text;
    for (int i = 0; i < 60; ++i) {
      text += R"({"mono_ns": )" + std::to_string(i * 1'000'000'000LL) + R"(, "wall_ns": )" +
              std::to_string(UnixSeconds(i) * 1'000'000'000) + R"(, "host": ")" + host +
              R"(", "gpu_uuid": "GPU-5f3a0000-4d1c-11ee-9a6b-a1b2c3d40001", "util_pct": 90})" + "\n";
    }
    return text;
  };
  const std::string both = folder.Write("both.jsonl", agent("n1") + agent("n2"));
  const std::string apart = folder.Write("n1.jsonl", agent("n1")) + " " + folder.Write("n2.jsonl", agent("n2"));
  EXPECT_EQ(AuditJsonOf(folder.Write("n1.jsonl", agent("n1")))["window"]["gpus"].size(), 1U);
  for (const std::string& inputs : {both, apart}) {
    const ProgramRun run = RunIdleburn("audit " + inputs);
    EXPECT_EQ(run.code, 1) << run.out;
    EXPECT_NE(run.err.find("is on n1 and on n2 at the same time"), std::string::npos) << run.err;
  }
  // As within one file: a machine that changes its name, or is called by its full one, is one.
  EXPECT_EQ(AuditJsonOf(a + " " + later)["window"]["gpus"].size(), 1U);
  EXPECT_EQ(AuditJsonOf(a + " " + same)["window"]["gpus"].size(), 1U);
  // A table of columns beside it.
  std::string table = "time,uuid,host,utilization\n";
  for (int i = 0; i < 60; ++i) table += At(i * 15) + ",GPU-5f3a0000-4d1c-11ee-9a6b-a1b2c3d40001,n2,90\n";
  const std::string columns = folder.Write("columns.csv", table);
  for (const std::string& inputs :
       {a + " " + columns, columns + " " + folder.Write("z.txt", Scrapes("gpu=\"0\",Hostname=\"n1\"," + kUuid))}) {
    const ProgramRun run = RunIdleburn("audit " + inputs);
    EXPECT_EQ(run.code, 1) << inputs << run.out;
    EXPECT_NE(run.err.find("two machines have no GPU in common"), std::string::npos) << run.err;
  }
}

}  // namespace
}  // namespace idleburn::testing
