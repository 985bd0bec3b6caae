// Several files of one run, joined on a common clock by the real program.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "support/capture.h"
#include "support/program.h"
#include "support/read_inputs.h"
#include "support/smi_log.h"

namespace idleburn {
namespace {

using nlohmann::json;
using testing::AuditJsonOf;
using testing::RunIdleburn;
using testing::Shared;
using testing::SmiStamp;
using testing::TempFolder;
using testing::UnixSeconds;

constexpr std::int64_t kRun = 7200;  // seconds
constexpr std::int64_t kLeaves = 1800;
const std::string kA = "aaaaaaaa-1111-2222-3333-4444ABCDEF00";
const std::string kB = "bbbbbbbb-1111-2222-3333-4444ABCDEF00";

std::string Upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}
std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// Two GPUs, five minutes idle and five minutes at 100 % in turn; nothing about memory or processes.
std::string SmiLog(std::int64_t from, std::int64_t to) {
  std::string text = "timestamp, index, uuid, utilization.gpu [%]\n";
  for (std::int64_t s = from; s < to; ++s) {
    const std::string busy = s % 600 >= 300 ? ", 100 %\n" : ", 0 %\n";
    text += SmiStamp(s) + ", 0, GPU-" + Upper(kA) + busy;
    text += SmiStamp(s) + ", 1, GPU-" + Lower(kB) + busy;
  }
  return text;
}

// Every five seconds. A process holds GPU A all the time and another GPU B until it leaves.
std::string ProcessLog() {
  std::string text = "timestamp, gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n";
  for (std::int64_t s = 0; s <= kRun; s += 5) {
    text += SmiStamp(s) + ", " + Lower(kA) + ", 7, python, 500 MiB\n";
    if (s < kLeaves) text += SmiStamp(s) + ", GPU-" + Upper(kB) + ", 8, python, 500 MiB\n";
  }
  return text;
}

// Every fifteen seconds, one GPU after the other and the second first: B computes, A only spins.
std::string ActivityDump() {
  std::string text = "# TYPE DCGM_FI_PROF_SM_ACTIVE gauge\n";
  for (const auto& [uuid, active] : {std::pair(Upper(kB), "0.9"), std::pair("GPU-" + Lower(kA), "0.02")}) {
    for (std::int64_t s = 0; s <= kRun; s += 15) {
      text +=
          "DCGM_FI_PROF_SM_ACTIVE{UUID=\"" + uuid + "\"} " + active + " " + std::to_string(UnixSeconds(s)) + "000\n";
    }
  }
  return text;
}

class Join : public ::testing::Test {
 protected:
  // The JSON of one run, which must not depend on the order of its inputs.
  static std::string WithoutInputs(const std::vector<std::string>& paths) {
    std::string arguments = "audit --price 8 --format json";
    for (const std::string& path : paths) arguments += " " + path;
    const std::string text = RunIdleburn(arguments).out;
    const std::size_t from = text.find("\"inputs\": [");
    const std::size_t to = text.find(']', from);
    EXPECT_LT(from, to) << arguments << "\n" << text;
    return text.substr(0, from) + text.substr(std::min(to, text.size()));
  }

  TempFolder folder_;
  std::string log_ = folder_.Write("log.csv", SmiLog(0, kRun + 1));
  std::string processes_ = folder_.Write("processes.csv", ProcessLog());
  std::string activity_ = folder_.Write("activity.prom", ActivityDump());
};

TEST_F(Join, EachFileTellsWhatTheOthersCannot) {
  const json audit = AuditJsonOf("--price 8 " + log_ + " " + processes_ + " " + activity_);
  ASSERT_EQ(audit["per_gpu"].size(), 2U) << "one UUID, however it is spelled";
  EXPECT_EQ(audit["window"]["counter"], "nvidia_smi.utilization.gpu");
  const auto of = [&](const std::string& uuid) {
    for (const json& gpu : audit["per_gpu"]) {
      if (gpu["uuid"] == "GPU-" + Lower(uuid)) return gpu;
    }
    return json::object();
  };
  const json a = of(kA);
  EXPECT_EQ(a["index"], 0);
  EXPECT_DOUBLE_EQ(a["idle_held_gpu_hours"], 1);
  EXPECT_DOUBLE_EQ(a["idle_empty_gpu_hours"], 0);
  EXPECT_DOUBLE_EQ(a["spin_wait_gpu_hours"], 1);
  const json b = of(kB);
  EXPECT_EQ(b["index"], 1);
  EXPECT_DOUBLE_EQ(b["idle_held_gpu_hours"], 0.25) << "half of the half hour until its process left";
  EXPECT_DOUBLE_EQ(b["idle_empty_gpu_hours"], 0.75);
  EXPECT_DOUBLE_EQ(b["spin_wait_gpu_hours"], 0);
  EXPECT_DOUBLE_EQ(audit["idle_unknown_gpu_hours"], 0);
  EXPECT_DOUBLE_EQ(audit["spin_wait_unknown_gpu_hours"], 0);
  EXPECT_DOUBLE_EQ(audit["gpu_hours"]["observed"], 4);
  EXPECT_EQ(audit["cost"]["idle_held"], "10.00");
  EXPECT_EQ(audit["cost"]["spin_wait"], "8.00");

  const json alone = AuditJsonOf(log_);
  EXPECT_DOUBLE_EQ(alone["idle_unknown_gpu_hours"], 2);
  EXPECT_TRUE(alone["spin_wait_gpu_hours"].is_null());
  EXPECT_EQ(alone["phases"]["idle"]["gpu_hours"], audit["phases"]["idle"]["gpu_hours"]);
}

TEST_F(Join, TheOrderOfTheInputsDecidesNothing) {
  std::vector<std::string> paths = {activity_, log_, processes_};
  const std::string one = WithoutInputs(paths);
  while (std::next_permutation(paths.begin(), paths.end())) EXPECT_EQ(WithoutInputs(paths), one);
}

// dmon knows indexes, the agent's lines UUIDs, a log both: whichever is read first, and files are read by name.
TEST_F(Join, TheNamesOfTheInputsDecideNothing) {
  std::string sweeps = "#Date Time gpu pwr\n#YYYYMMDD HH:MM:SS Idx W\n";
  std::string lines;
  for (std::int64_t s = 0; s <= 600; ++s) {
    std::string day = SmiStamp(s).substr(0, 10);
    day.erase(std::remove(day.begin(), day.end(), '/'), day.end());
    for (const int gpu : {0, 1}) {
      sweeps += day + " " + SmiStamp(s).substr(11, 8) + " " + std::to_string(gpu) + " 300\n";
      const std::string mono = std::to_string((1000 + s) * kNanosPerSecond);
      lines += "{\"mono_ns\": " + mono + ", \"wall_ns\": " + std::to_string(UnixSeconds(s)) +
               "000000000, \"gpu_uuid\": \"GPU-" + Lower(gpu == 0 ? kA : kB) + "\", \"util_pct\": 50}\n";
    }
  }
  const std::vector<std::string> texts = {sweeps, lines, SmiLog(0, 601)};
  std::vector<std::size_t> order = {0, 1, 2};
  std::set<std::string> answers;
  do {
    std::string inputs;
    for (std::size_t i = 0; i < order.size(); ++i) {
      inputs += " " + folder_.Write("name" + std::to_string(i), texts[order[i]]);
    }
    const json audit = AuditJsonOf("--price 8" + inputs);
    EXPECT_EQ(audit["per_gpu"].size(), 2U);
    EXPECT_EQ(audit["cost"]["total"], "2.67") << "20 minutes at $8";
    EXPECT_DOUBLE_EQ(audit["energy_kwh"], 0.1);
    answers.insert(json{audit["per_gpu"], audit["cost"], audit["phases"], audit["findings"], audit["window"]}.dump());
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(answers.size(), 1U);

  const std::string a = folder_.Write("sweeps", sweeps);
  const std::string b = folder_.Write("lines", lines);
  const testing::ProgramRun run = RunIdleburn("audit " + a + " " + b);
  EXPECT_EQ(run.code, 1) << "two GPUs or four";
  EXPECT_NE(run.err.find("the inputs do not show whether GPU-"), std::string::npos) << run.err;
  EXPECT_EQ(run.err.find('\n'), run.err.size() - 1);
}

TEST_F(Join, ARunInTwoFilesIsTheSameRun) {
  const std::string first = folder_.Write("hour1.csv", SmiLog(0, 3600));
  const std::string second = folder_.Write("hour2.csv", SmiLog(3600, kRun + 1));
  const json whole = AuditJsonOf("--price 8 " + log_ + " " + processes_ + " " + activity_);
  const json parts = AuditJsonOf("--price 8 " + second + " " + first + " " + processes_ + " " + activity_);
  for (const char* key : {"window", "gpu_hours", "phases", "unobserved", "ticks", "cost", "per_gpu", "findings"}) {
    EXPECT_EQ(parts[key], whole[key]) << key;
  }
  const json without_gap = AuditJsonOf(first + " " + second);
  EXPECT_DOUBLE_EQ(without_gap["unobserved"]["gpu_hours"], 0);
}

TEST_F(Join, TwoCountersOfOneSignalAreNeverOneSeries) {
  std::string dump = "# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n";
  for (std::int64_t s = 0; s <= kRun; s += 15) {
    dump += "DCGM_FI_DEV_GPU_UTIL{UUID=\"GPU-" + Lower(kA) + "\"} 50 " + std::to_string(UnixSeconds(s)) + "000\n";
  }
  const auto mixed = [](const json& audit) {
    for (const json& row : audit["data_quality"]) {
      if (row["id"] == "mixed_counters") return row["names"].dump();
    }
    return std::string();
  };
  const std::string other = folder_.Write("util.prom", dump);
  const json audit = AuditJsonOf(log_ + " " + other);
  EXPECT_EQ(mixed(audit), "[\"dcgm.DCGM_FI_DEV_GPU_UTIL (nvidia_smi.utilization.gpu is used)\"]");
  const json alone = AuditJsonOf(log_);
  for (const char* key : {"window", "gpu_hours", "phases", "ticks", "unobserved", "per_gpu", "findings"}) {
    EXPECT_EQ(audit[key], alone[key]) << key;
  }
  EXPECT_EQ(mixed(AuditJsonOf(log_ + " " + processes_ + " " + activity_)), "");
}

// One log after the other, by different counters: the time of the one that is left aside is nobody's guess.
TEST_F(Join, TheTimeOfACounterThatIsLeftAsideIsUnobserved) {
  std::string dump;
  for (std::int64_t s = kRun + 15; s <= kRun + 600; s += 15) {
    dump += "DCGM_FI_DEV_GPU_UTIL{UUID=\"GPU-" + Lower(kA) + "\"} 50 " + std::to_string(UnixSeconds(s)) + "000\n";
  }
  const json alone = AuditJsonOf(log_);
  const json audit = AuditJsonOf(log_ + " " + folder_.Write("later.prom", dump));
  // The last reading, of an idle second, is held for 2.5 s.
  EXPECT_NEAR(audit["mean_utilization_percent"].get<double>(), 50.0 * 14'400 / 14'402.5, 1e-9);
  // Only the GPU that is named later is billed for longer: ten minutes.
  EXPECT_NEAR(audit["gpu_hours"]["window"].get<double>(), alone["gpu_hours"]["window"].get<double>() + 1.0 / 6, 1e-6);
}

// A log of nvidia-smi that knows its GPUs, 0 to `gpus` - 1, by index alone; a reading a second.
std::string IndexRows(std::int64_t from, std::int64_t to, int gpus = 1, const std::string& cell = "50 %") {
  std::string text;
  for (std::int64_t s = from; s < to; ++s) {
    for (int gpu = 0; gpu < gpus; ++gpu) text += SmiStamp(s) + ", " + std::to_string(gpu) + ", " + cell + "\n";
  }
  return text;
}
const std::string kIndexHeader = "timestamp, index, utilization.gpu [%]\n";
std::string IndexLog(std::int64_t from, std::int64_t to, int gpus = 1) {
  return kIndexHeader + IndexRows(from, to, gpus);
}

void ExpectTold(const std::string& inputs, const std::string& gpu) {
  const testing::ProgramRun run = RunIdleburn("audit " + inputs);
  EXPECT_EQ(run.code, 1) << inputs;
  for (const std::string& part : {std::string("node1"), std::string("node2"), gpu, std::string("NODE1=")}) {
    EXPECT_NE(run.err.find(part), std::string::npos) << part << " in " << run.err;
  }
  EXPECT_EQ(run.err.find('\n'), run.err.size() - 1) << run.err;
}

TEST_F(Join, TwoMachinesWithEqualIndicesAreNeverOne) {
  const std::string one = folder_.Write("node1.csv", IndexLog(0, 600, 8));
  const std::string two = folder_.Write("node2.csv", IndexLog(100, 700, 8));
  ExpectTold(one + " " + two, "nvidia_smi.utilization.gpu of GPU 0");
  const json audit = AuditJsonOf("--price 3.6 node1=" + one + " node2=" + two);
  ASSERT_EQ(audit["per_gpu"].size(), 16U);
  EXPECT_EQ(audit["cost"]["total"], "9.58") << "16 GPUs, each from its first row to its last: 599 s at $0.001";
  EXPECT_DOUBLE_EQ(audit["gpu_hours"]["observed"].get<double>(), 16 * 599 / 3600.0);
  EXPECT_EQ(audit["per_gpu"][0]["host"], "node1");
  EXPECT_EQ(audit["per_gpu"][8]["host"], "node2");
  EXPECT_EQ(audit["per_gpu"][8]["index"], 0);
  const testing::ProgramRun table = RunIdleburn("export " + one + " " + two);
  EXPECT_EQ(table.code, 1) << "a table of the same would mix them too";
}

TEST_F(Join, WhoseAGpuIsIsNeverGuessed) {
  const std::string inputs =
      "node1=" + folder_.Write("1.csv", IndexLog(0, 60)) + " node2=" + folder_.Write("2.csv", IndexLog(0, 60)) + " ";
  std::string sweeps = "#Date Time gpu pwr\n#YYYYMMDD HH:MM:SS Idx W\n";
  for (std::int64_t s = 0; s < 60; ++s) sweeps += "20260302 " + SmiStamp(s).substr(11, 8) + " 0 300\n";
  for (const std::string name : {"0.log", "3.log"}) {  // read before the others and after them
    const std::string power = folder_.Write(name, sweeps);
    const testing::ProgramRun run = RunIdleburn("audit " + inputs + power);
    EXPECT_EQ(run.code, 1);
    EXPECT_NE(run.err.find(name + ": does not show whether its GPU 0 belongs to node1 or node2"), std::string::npos)
        << run.err;
    const json audit = AuditJsonOf(inputs + "node2=" + power);
    ASSERT_EQ(audit["per_gpu"].size(), 2U);
    EXPECT_TRUE(audit["per_gpu"][0]["mean_power_w"].is_null());
    EXPECT_EQ(audit["per_gpu"][1]["mean_power_w"], 300);
  }
}

TEST_F(Join, TwoMachinesAreToldInEveryFormat) {
  const auto both = [&](const std::string& from_first, const std::string& from_second) {
    return folder_.Write("node1.log", from_first) + " " + folder_.Write("node2.log", from_second);
  };
  const auto unnamed = [](std::int64_t from) {
    std::string text = "timestamp, utilization.gpu [%]\n";
    for (std::int64_t s = from; s < from + 60; ++s) text += SmiStamp(s) + ", 7 %\n";
    return text;
  };
  ExpectTold(both(unnamed(0), unnamed(30)), "GPU 0");
  const auto sweeps = [](const std::string& percent) {
    std::string text = "#Date Time gpu sm\n#YYYYMMDD HH:MM:SS Idx %\n";
    for (std::int64_t s = 0; s < 60; ++s) text += "20260302 " + SmiStamp(s).substr(11, 8) + " 0 " + percent + "\n";
    return text;
  };
  ExpectTold(both(sweeps("10"), sweeps("90")), "GPU 0");
  std::string table = "when,busy\n";
  for (std::int64_t s = 0; s < 60; ++s) table += std::to_string(UnixSeconds(s)) + ",50\n";
  ExpectTold(both(table, table) + " --columns time=when,util=busy", "csv.busy of GPU 0");
  const auto placed = [](const std::string& cell) {
    std::string text = "timestamp, pci.bus_id, " + cell;
    for (std::int64_t s = 0; s < 60; ++s) text += SmiStamp(s) + ", 00000000:01:00.0, 50 W\n";
    return text;
  };
  ExpectTold(both(placed("power.draw [W]\n"), placed("power.draw [W]\n")), "the GPU at 0000:01:00.0");
  std::string dump;
  for (std::int64_t s = 0; s < 60; s += 5) {
    dump += "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 50 " + std::to_string(UnixSeconds(s)) + "000\n";
  }
  ExpectTold(both(dump, dump), "dcgm.DCGM_FI_DEV_GPU_UTIL of GPU 0");
  // A log that knows the UUID does not say whose the other's GPU is.
  std::string known = "timestamp, index, uuid, utilization.gpu [%]\n";
  for (std::int64_t s = 0; s < 60; ++s) known += SmiStamp(s) + ", 0, GPU-" + Lower(kA) + ", 50 %\n";
  ExpectTold(both(known, IndexLog(0, 60)), "GPU-" + Lower(kA));
  EXPECT_EQ(AuditJsonOf(both(known, known))["per_gpu"].size(), 1U) << "one GPU, told twice";
}

// One log after the other, by turns, and one counter each: all of one GPU, which only its index names.
TEST_F(Join, FilesOfOneGpuAreOne) {
  const auto hours = [](const json& audit) { return audit["gpu_hours"]["observed"].get<double>(); };
  const std::string first = folder_.Write("1.csv", IndexLog(0, 600));
  const std::string second = folder_.Write("2.csv", IndexLog(598, 1200));
  const json rotated = AuditJsonOf(first + " " + second);
  EXPECT_EQ(rotated["per_gpu"].size(), 1U);
  EXPECT_NEAR(hours(rotated), 1199 / 3600.0, 1e-9) << "both ran for a second or two";
  const std::string turns = IndexLog(0, 300) + IndexRows(600, 900) + IndexRows(1200, 1500);
  const std::string other = IndexLog(300, 600) + IndexRows(900, 1200);
  const json by_turns = AuditJsonOf(folder_.Write("3.csv", turns) + " " + folder_.Write("4.csv", other));
  EXPECT_EQ(by_turns["per_gpu"].size(), 1U);
  EXPECT_NEAR(hours(by_turns), 1499 / 3600.0, 1e-9);
  const std::string watts = "timestamp, index, power.draw [W]\n" + IndexRows(0, 600, 1, "360 W");
  const std::string power = folder_.Write("5.csv", watts);
  const json both = AuditJsonOf(first + " " + power);
  EXPECT_EQ(both["per_gpu"].size(), 1U);
  EXPECT_NEAR(hours(both), 599 / 3600.0, 1e-9);
  EXPECT_NEAR(both["energy_kwh"].get<double>(), 0.36 * 599 / 3600, 1e-6);
  // Two agents of one host may overlap: they say that it is one.
  std::string dump;
  for (std::int64_t s = 0; s <= 60; s += 5) {
    dump += "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",Hostname=\"n\"} 50 " + std::to_string(UnixSeconds(s)) + "000\n";
  }
  const json agents = AuditJsonOf(folder_.Write("6.prom", dump) + " " + folder_.Write("7.prom", dump));
  EXPECT_EQ(agents["per_gpu"].size(), 1U);
}

// Four hours by a wall clock that shows the third of them twice: from 7199 s it goes back to 3600 s.
template <typename Row>
std::string WithRepeatedHour(std::string text, std::int64_t step, Row row) {
  for (std::int64_t s = 0; s < 2 * 7200; s += step) text += row(SmiStamp(s < 7200 ? s : s - 3600), s);
  return text;
}

std::int64_t Steps(const json& audit) {
  for (const json& row : audit["data_quality"]) {
    if (row["id"] == "clock_step") return row["count"];
  }
  return 0;
}

TEST_F(Join, AnHourThatComesTwiceIsTwoHours) {
  const std::string gpus = WithRepeatedHour(
      "timestamp, index, uuid, utilization.gpu [%]\n", 1, [](const std::string& stamp, std::int64_t s) {
        const std::string busy = s >= 7200 && s < 10'800 ? ", 100 %\n" : ", 0 %\n";
        return stamp + ", 0, GPU-" + Lower(kA) + busy + stamp + ", 1, GPU-" + Lower(kB) + ", 0 %\n";
      });
  const std::string processes =
      WithRepeatedHour("timestamp, gpu_uuid, pid, process_name\n", 5, [](const std::string& stamp, std::int64_t s) {
        const std::string b = stamp + ", GPU-" + Lower(kB) + ", 8, python\n";
        return stamp + ", GPU-" + Lower(kA) + ", 7, python\n" + (s < 9000 ? b : "");
      });
  const std::string log = folder_.Write("gpus.csv", gpus);
  const json alone = AuditJsonOf(log);
  EXPECT_EQ(Steps(alone), 2) << "of two GPUs";
  const json both = AuditJsonOf(log + " " + folder_.Write("apps.csv", processes));
  EXPECT_EQ(Steps(both), 4);
  for (const char* figure : {"window", "observed", "unobserved"}) {
    EXPECT_NEAR(both["gpu_hours"][figure].get<double>(), alone["gpu_hours"][figure].get<double>(), 1e-9) << figure;
  }
  EXPECT_NEAR(both["gpu_hours"]["window"].get<double>(), 2 * 14'399 / 3600.0, 1e-9);
  EXPECT_NEAR(both["gpu_hours"]["unobserved"].get<double>(), 2 / 3600.0, 1e-9) << "the second of the step, of each";
  EXPECT_NEAR(both["mean_utilization_percent"].get<double>(), alone["mean_utilization_percent"].get<double>(), 1e-6);
  EXPECT_NEAR(both["per_gpu"][0]["idle_held_gpu_hours"].get<double>(), 3, 0.002);
  EXPECT_NEAR(both["per_gpu"][1]["idle_held_gpu_hours"].get<double>(), 2.5, 0.002) << "until 9000 s";
  EXPECT_NEAR(both["per_gpu"][1]["idle_empty_gpu_hours"].get<double>(), 1.5, 0.002);
  // A small step, as a time server makes it; and a table of one's own, in whose first rows it lies.
  std::string table = "when,gpu,busy\n";
  for (std::int64_t s = 0; s < 1200; ++s) table += SmiStamp(s < 600 ? s : s - 40) + ",0,50\n";
  const std::string mine = folder_.Write("mine.csv", table);
  const std::string columns = " --columns time=when,gpu=gpu,util=busy";
  const json stepped = AuditJsonOf(mine + columns);
  EXPECT_EQ(Steps(stepped), 1);
  EXPECT_NEAR(stepped["gpu_hours"]["window"].get<double>(), 1199 / 3600.0, 1e-9);
}

TEST_F(Join, NewestFirstIsRefusedAmongOthersToo) {
  std::string newest = "timestamp, index, power.draw [W]\n";
  for (std::int64_t s = 600; s >= 0; s -= 5) newest += SmiStamp(s) + ", 0, 300 W\n";
  const testing::ProgramRun run = RunIdleburn("audit " + log_ + " " + folder_.Write("newest.csv", newest));
  EXPECT_EQ(run.code, 1);
  EXPECT_NE(run.err.find("newest.csv: most rows are older"), std::string::npos) << run.err;
}

TEST_F(Join, MaskedMachinesStayApart) {
  const auto captures = Shared() / "data/telemetry/nvidia_smi";
  const std::string h100 = "linux-x86_64__nvidia-h100-80gb-hbm3__590.48.01";
  const std::string l40s = "linux-x86_64__nvidia-l40s__595.80";
  REQUIRE_SHARED(captures / (h100 + ".txt"));
  std::string logs;
  std::string dumps;
  std::string states;
  for (const std::string& machine : {h100, l40s}) {
    const auto sections = test::CutCapture(testing::ReadText(captures / (machine + ".txt")));
    logs += " " + folder_.Write(machine + ".csv", test::SectionText(sections, "load", "query-gpu (csv"));
    states = folder_.Write("idle.csv", test::SectionText(sections, "idle", "query-gpu (csv"));
    states += " " + folder_.Write("load.csv", test::SectionText(sections, "load", "query-gpu (csv"));
    dumps += " " + (Shared() / "data/telemetry/prometheus" / (machine + "__load.metrics")).string();
  }
  for (const std::string& inputs : {logs, dumps}) {
    const json audit = AuditJsonOf(inputs);
    ASSERT_EQ(audit["window"]["gpus"].size(), 2U) << inputs;
    EXPECT_EQ(audit["window"]["gpus"][0]["name"], "NVIDIA H100 80GB HBM3");
    EXPECT_EQ(audit["window"]["gpus"][1]["name"], "NVIDIA L40S");
    EXPECT_TRUE(audit["window"]["gpus"][0]["uuid"].is_null());
  }
  EXPECT_EQ(AuditJsonOf(states)["window"]["gpus"].size(), 1U) << "two logs of one machine: one bus id";
}

TEST_F(Join, TheSameSlotOfTwoMachinesIsTwoGpus) {
  std::string logs;
  for (const std::string model : {"NVIDIA L40S", "NVIDIA A10G"}) {
    std::string text = "timestamp, name, uuid, pci.bus_id, index, utilization.gpu [%]\n";
    for (std::int64_t s = 0; s <= 60; ++s) {
      text += SmiStamp(s) + ", " + model + ", GPU-00000000-0000-0000-0000-000000000000, 00000000:01:00.0, 0, 50 %\n";
    }
    logs += " " + folder_.Write(model.substr(7) + ".csv", text);
  }
  const json audit = AuditJsonOf(logs);
  ASSERT_EQ(audit["window"]["gpus"].size(), 2U);
  EXPECT_DOUBLE_EQ(audit["gpu_hours"]["observed"], 120 / 3600.0);
}

TEST_F(Join, GpusStandByHostAndIndexNotByAppearance) {
  const auto dump = [](const std::string& host) {
    std::string text = "# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n";
    for (const int gpu : {10, 1, 0}) {
      for (std::int64_t s = 0; s <= 60; s += 15) {
        text += "DCGM_FI_DEV_GPU_UTIL{gpu=\"" + std::to_string(gpu) + "\",Hostname=\"" + host + "\"} 50 " +
                std::to_string(UnixSeconds(s)) + "000\n";
      }
    }
    return text;
  };
  const std::string files = folder_.Write("a.prom", dump("n2")) + " " + folder_.Write("b.prom", dump("n1"));
  const json audit = AuditJsonOf(files + " --price 2");
  std::string order;
  for (const json& gpu : audit["per_gpu"]) {
    order += gpu["host"].get<std::string>() + "/" + std::to_string(gpu["index"].get<int>()) + " ";
  }
  EXPECT_EQ(order, "n1/0 n1/1 n1/10 n2/0 n2/1 n2/10 ");
  const std::string text = RunIdleburn("audit --full " + files + " --price 2").out;
  const std::string table = text.substr(text.find("Per GPU"));
  EXPECT_LT(table.find("n1 GPU 1 "), table.find("n1 GPU 10 "));
  EXPECT_LT(table.find("n1 GPU 10 "), table.find("n2 GPU 0 "));
}

TEST_F(Join, WhatHasNoTimeHasNoPlaceAmongOthers) {
  const std::string scrape = folder_.Write("scrape.metrics", "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 40\n");
  EXPECT_EQ(AuditJsonOf(scrape)["window"]["gpus"].size(), 1U);
  const std::string again = folder_.Write("scrape2.metrics", "DCGM_FI_DEV_GPU_UTIL{gpu=\"1\"} 40\n");
  EXPECT_EQ(AuditJsonOf(scrape + " " + again)["window"]["gpus"].size(), 2U);
  const testing::ProgramRun run = RunIdleburn("audit " + log_ + " " + scrape);
  EXPECT_EQ(run.code, 1) << "half a century would be unobserved";
  EXPECT_NE(run.err.find("scrape.metrics: has no dates"), std::string::npos) << run.err;
  EXPECT_EQ(run.err.find('\n'), run.err.size() - 1);
}

TEST_F(Join, WithoutTimesThePeriodThatIsSaidHolds) {
  std::string scrapes;
  std::string cards;
  std::string sweeps = "# gpu sm\n";
  for (int i = 0; i < 13; ++i) {
    scrapes += "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 40\n";
    cards += R"json({"card0": {"GPU use (%)": "40"}})json";
    sweeps += " 0 40\n";
  }
  for (const std::string& text : {scrapes, cards, sweeps}) {
    const std::string log = folder_.Write("untimed.log", text);
    EXPECT_DOUBLE_EQ(AuditJsonOf(log)["gpu_hours"]["observed"].get<double>(), 12 / 3600.0) << text;
    EXPECT_DOUBLE_EQ(AuditJsonOf(log + " --period 5s")["gpu_hours"]["observed"].get<double>(), 60 / 3600.0) << text;
  }
}

TEST_F(Join, CompressedLogsGiveTheSameReport) {
  const std::string out = RunIdleburn("audit --price 8 --format json " + log_).out;
  ASSERT_NE(out.find("log.csv"), std::string::npos);
  for (const char* tool : {"gzip", "xz", "zstd"}) {
    const std::string packed = log_ + "." + tool;
    testing::MustRunTool(std::string(tool) + " -c <" + log_ + " >" + packed);
    ASSERT_LT(std::filesystem::file_size(packed), std::filesystem::file_size(log_) / 4);
    std::string same = RunIdleburn("audit --price 8 --format json " + packed).out;
    for (std::size_t at = 0; (at = same.find(packed, at)) != std::string::npos; at += log_.size()) {
      same.replace(at, packed.size(), log_);
    }
    EXPECT_EQ(same, out) << tool;
  }
}

}  // namespace
}  // namespace idleburn
