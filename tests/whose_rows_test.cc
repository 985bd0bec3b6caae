// Whose a row is: inputs that leave it open which GPU, model or machine a reading is of. Each is read right, or refused
// in one line that says what settles it.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "support/made_recording.h"
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
    EXPECT_NE(run.err.find("no column names the GPU of a row"), std::string::npos) << table.name << "\n" << run.err;
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

// Rows every half a second. By turns of two GPUs: one works with much memory, one rests with little.
std::string EvenRows(const char* head, const std::function<std::string(int row, const std::string& stamp)>& cells) {
  std::string text = std::string(head) + "\n";
  for (int row = 0; row < 2 * kRows; ++row) {
    const std::string whole = std::to_string(row / 2 % 60);
    const std::string stamp = "2026/07/03 22:" + std::to_string(10 + row / 120) + ":" + (whole.size() < 2 ? "0" : "") +
                              whole + (row % 2 == 0 ? ".000" : ".500");
    text += cells(row, stamp) + "\n";
  }
  return text;
}

TEST(WhoseRowsTest, EvenRowsOfTwoGpusByTurnsAreNotOneGpu) {
  const TempFolder folder;
  const auto row_of = [](int row, const std::string& stamp) {
    return stamp + ", " + (row % 2 == 0 ? "95 %, 61000 MiB" : "5 %, 4 MiB");
  };
  const std::string log =
      folder.Write("log.csv", EvenRows("timestamp, utilization.gpu [%], memory.used [MiB]", row_of));
  const std::string table = folder.Write("table.csv", EvenRows("t,u,mem", [](int row, const std::string& stamp) {
                                           return stamp + (row % 2 == 0 ? ",95,61000" : ",5,4");
                                         }));
  const std::string columns = " --columns time=t,util=u,memory=mem:MiB ";
  const ProgramRun of_table = RunIdleburn("audit" + columns + table);
  EXPECT_EQ(of_table.code, 1) << of_table.out;
  EXPECT_NE(of_table.err.find("mem alternates between 4 MiB and 61000 MiB for 800 rows, as with at least 2 GPUs in "
                              "turn; name the column with --columns gpu=NAME, or pass `--gpus 1`"),
            std::string::npos)
      << of_table.err;
  const ProgramRun of_log = RunIdleburn("audit " + log);
  EXPECT_EQ(of_log.code, 1) << of_log.out;
  EXPECT_NE(of_log.err.find("log.csv:2: memory.used alternates between 4 MiB and 61000 MiB for 800 rows, as with at "
                            "least 2 GPUs in turn; several GPUs without index: add `index,uuid` to "
                            "--query-gpu, or pass `--gpus N`"),
            std::string::npos)
      << of_log.err;
  for (const ProgramRun& run : {of_table, of_log}) EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1);
  // The number that is said settles it, where the rows bear it out.
  EXPECT_EQ(AuditJsonOf(columns + "--gpus 1 " + table)["window"]["gpus"].size(), 1U);
  const json two = AuditJsonOf("--gpus 2 " + log);
  ASSERT_EQ(two["window"]["gpus"].size(), 2U);
  EXPECT_NEAR(two["gpu_hours"]["window"].get<double>(), 2 * kRows / 3600.0, 2 / 3600.0);
  EXPECT_EQ(two["per_gpu"][0]["mean_utilization_percent"], 95.0);
  EXPECT_EQ(two["per_gpu"][1]["mean_utilization_percent"], 5.0);
  const ProgramRun three = RunIdleburn("audit --gpus 3 " + log);
  EXPECT_EQ(three.code, 1) << three.out;
  EXPECT_NE(three.err.find("--gpus 3 contradicts the readings: memory.used alternates"), std::string::npos)
      << three.err;
  // A row that is missing would make each GPU the other.
  std::string torn = EvenRows("timestamp, utilization.gpu [%], memory.used [MiB]", row_of);
  torn.erase(torn.find("2026/07/03 22:12:30.500"), row_of(1, "2026/07/03 22:12:30.500").size() + 1);
  const ProgramRun moved = RunIdleburn("audit --gpus 2 " + folder.Write("torn.csv", torn));
  EXPECT_EQ(moved.code, 1) << moved.out;
  EXPECT_NE(moved.err.find("memory.used shows that the GPUs changed places just before"), std::string::npos)
      << moved.err;
}

// A step of the job that lasts two rows.
TEST(WhoseRowsTest, OneGpuWhoseLoadComesAndGoesWithTheRowsIsOne) {
  const TempFolder folder;
  const std::string log = folder.Write(
      "log.csv", EvenRows("timestamp, utilization.gpu [%], memory.used [MiB], temperature.gpu, power.draw [W]",
                          [](int row, const std::string& stamp) {
                            return stamp +
                                   (row % 2 == 0 ? ", 100 %, 61000 MiB, 61, 402 W" : ", 0 %, 61000 MiB, 60, 130 W");
                          }));
  const json audit = AuditJsonOf(log);
  EXPECT_EQ(audit["window"]["gpus"].size(), 1U);
  EXPECT_NEAR(audit["gpu_hours"]["window"].get<double>(), kRows / 3600.0, 1 / 3600.0);
  const std::string table = folder.Write("table.csv", EvenRows("t,u", [](int row, const std::string& stamp) {
                                           return stamp + (row % 2 == 0 ? ",100" : ",0");
                                         }));
  EXPECT_EQ(AuditJsonOf("--columns time=t,util=u " + table)["window"]["gpus"].size(), 1U);
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
  EXPECT_EQ(said["recommendations"].dump().find("does not know it for this GPU"), std::string::npos);
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
    EXPECT_NE(run.err.find("one GPU cannot be on two machines"), std::string::npos) << run.err;
  }
}

// A recording of a minute of one GPU, always of the same UUID.
std::string Recorded(const TempFolder& folder, const std::string& name, const std::string& host,
                     const std::string& boot, int from = 0, std::int64_t percent = 90) {
  MadeRecording made;
  made.start = Instant::FromNanos(UnixSeconds(from) * kNanosPerSecond);
  made.utilization = percent;
  made.uuid = "GPU-5f3a0000-4d1c-11ee-9a6b-a1b2c3d4000";
  if (!host.empty()) made.facts.push_back({"host", host});
  if (!boot.empty()) made.facts.push_back({"boot", boot});
  return made.WriteTo((folder.path() / name).string());
}

json GpusOf(const json& audit) { return audit["window"]["gpus"]; }

TEST(WhoseRowsTest, RecordingsOfOneUuidOnTwoMachinesAreTwoGpus) {
  const TempFolder folder;
  const std::string a = Recorded(folder, "a.idleburn", "n1", "boot-1", 0, 90);
  const std::string b = Recorded(folder, "b.idleburn", "n2", "boot-2", 0, 0);
  for (const std::string& inputs : {a + " " + b, b + " " + a}) {
    const json audit = AuditJsonOf(inputs + " --price 4");
    ASSERT_EQ(GpusOf(audit).size(), 2U);
    EXPECT_EQ(GpusOf(audit)[0]["host"], "n1");
    EXPECT_EQ(GpusOf(audit)[1]["host"], "n2");
    EXPECT_EQ(GpusOf(audit)[0]["uuid"], GpusOf(audit)[1]["uuid"]);
    EXPECT_NEAR(audit["gpu_hours"]["window"].get<double>(), 2 * 61 / 3600.0, 2 / 3600.0);
    EXPECT_EQ(audit["per_gpu"][0]["mean_utilization_percent"], 90.0);
    EXPECT_EQ(audit["per_gpu"][1]["mean_utilization_percent"], 0.0);
  }
  // Where a recording cannot be looked at before: never one GPU.
  const ProgramRun piped = RunIdleburn("audit - " + b + " < " + a);
  EXPECT_EQ(piped.code, 1) << piped.out;
  EXPECT_NE(piped.err.find("GPU-5f3a0000-4d1c-11ee-9a6b-a1b2c3d40000"), std::string::npos) << piped.err;
  // As tables, too.
  const std::string table = RunIdleburn("export " + a + " " + b).out;
  EXPECT_NE(table.find(",n1,"), std::string::npos) << table.substr(0, 400);
  EXPECT_NE(table.find(",n2,"), std::string::npos) << table.substr(0, 400);
  // A log that names no machine may be of either; one that is said to be of one machine is of that.
  const std::string log =
      folder.Write("log.txt", Scrapes("gpu=\"0\",UUID=\"GPU-5f3a0000-4d1c-11ee-9a6b-a1b2c3d40000\""));
  const ProgramRun either = RunIdleburn("audit " + a + " " + b + " " + log);
  EXPECT_EQ(either.code, 1) << either.out;
  EXPECT_NE(either.err.find("and recordings show that UUID on n1 and n2; name its machine, NODE="), std::string::npos)
      << either.err;
  EXPECT_EQ(GpusOf(AuditJsonOf(a + " " + b + " n1=" + log)).size(), 2U);
  EXPECT_EQ(GpusOf(AuditJsonOf(a + " " + log)).size(), 1U) << "as without a second machine";
}

TEST(WhoseRowsTest, RecordingsOfOneUuidThatProveNoSecondMachineAreOneGpuOrRefused) {
  const TempFolder folder;
  const std::string a = Recorded(folder, "a.idleburn", "n1", "boot-1");
  const std::string old = Recorded(folder, "old.idleburn", "n2", "");
  const std::string pod = Recorded(folder, "pod.idleburn", "pod-7", "boot-1");
  const ProgramRun run = RunIdleburn("audit " + a + " " + old);
  EXPECT_EQ(run.code, 1) << run.out;
  EXPECT_NE(run.err.find("at the same time, on n1 and on n2"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("NODE1=" + a), std::string::npos) << run.err;
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  EXPECT_EQ(GpusOf(AuditJsonOf(a + " " + pod)).size(), 1U) << "containers of one machine";
  for (const std::string& second : {old, pod}) {
    EXPECT_EQ(GpusOf(AuditJsonOf("x=" + a + " x=" + second)).size(), 1U);
    EXPECT_EQ(GpusOf(AuditJsonOf("x=" + a + " y=" + second)).size(), 2U);
  }
  EXPECT_EQ(GpusOf(AuditJsonOf(a + " " + Recorded(folder, "same.idleburn", "n1", "boot-1"))).size(), 1U);
  // Never at one time: one GPU, and that it moved is said.
  const json moved = AuditJsonOf(a + " " + Recorded(folder, "later.idleburn", "n2", "boot-2", 600));
  EXPECT_EQ(GpusOf(moved).size(), 1U);
  EXPECT_NE(moved["data_quality"].dump().find("on n1, then on n2"), std::string::npos) << moved["data_quality"];
  const json again = AuditJsonOf(a + " " + Recorded(folder, "again.idleburn", "n1", "boot-3", 600));
  EXPECT_EQ(GpusOf(again).size(), 1U);
  EXPECT_EQ(again["data_quality"].dump().find("moved_gpu"), std::string::npos);
}

}  // namespace
}  // namespace idleburn::testing
