// The audit of profilers' traces by the real program: figures known from how the trace was made.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "places.h"
#include "support/capture.h"
#include "support/made_recording.h"
#include "support/program.h"
#include "support/read_inputs.h"
#include "support/smi_log.h"
#include "support/sqlite_file.h"

namespace idleburn {
namespace {

using nlohmann::json;
using testing::AuditJsonOf;
using testing::MadeRecording;
using testing::ProgramRun;
using testing::RunIdleburn;
using testing::SmiStamp;
using testing::TempFolder;
using testing::UnixSeconds;
using testing::Unwrapped;

std::string Us(double us) {
  const std::string text = std::to_string(us);
  return text.substr(0, text.size() - 3);  // three decimals: nanoseconds
}

std::string Event(const std::string& category, const std::string& name, double us, double length, int thread,
                  const std::string& arguments = "") {
  return R"({"ph":"X","cat":")" + category + R"(","name":")" + name + R"(","pid":1,"tid":)" + std::to_string(thread) +
         ",\"ts\":" + Us(us) + ",\"dur\":" + Us(length) + ",\"args\":{" + arguments + "}},\n";
}

// Eight steps of 10 ms: the loader takes the first 4, then a kernel of 5 is launched; the rest is the host's.
struct Trace {
  std::string device = "0";
  int rank = -1;
  bool gpu = true;
  std::int64_t base_ns = 1'700'000'000'000'000'000;

  [[nodiscard]] std::string Text() const {
    std::string text = "{\"schemaVersion\":1,\"baseTimeNanoseconds\":" + std::to_string(base_ns) + ",";
    if (rank >= 0)
      text += R"("distributedInfo":{"backend":"nccl","rank":)" + std::to_string(rank) + ",\"world_size\":2},";
    text += "\"traceEvents\":[\n";
    for (int i = 0; i < 8; ++i) {
      const double at = 10'000.0 * i;
      const std::string id = "\"correlation\":" + std::to_string(i + 1);
      text += Event("user_annotation", "ProfilerStep#" + std::to_string(i), at, 10'000, 1);
      text += Event("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, 4'000, 1);
      if (!gpu) continue;
      text += Event("cuda_runtime", "cudaLaunchKernel", at + 4'000, 10, 1, id);
      text += Event("kernel", "sgemm", at + 4'010, 5'000, 7, "\"device\":" + device + ",\"stream\":7," + id);
    }
    text.resize(text.size() - 2);
    return text + "]}\n";
  }
};

class TraceAudit : public ::testing::Test {
 protected:
  TempFolder folder_;
};

TEST_F(TraceAudit, SplitsTheStepsExactlyAndNamesTheLoader) {
  const std::string trace = folder_.Write("trace.json", Trace().Text());
  const json audit = AuditJsonOf("--price 3600 " + trace);
  ASSERT_EQ(audit["steps"].size(), 2U);
  const json& steps = audit["steps"][1];
  EXPECT_EQ(steps["window"], "profiler_steps");
  EXPECT_TRUE(steps["decides"]);
  EXPECT_DOUBLE_EQ(steps["span_ms"], 80);
  EXPECT_DOUBLE_EQ(steps["compute_ms"], 40);
  EXPECT_DOUBLE_EQ(steps["idle_ms"], 40);
  EXPECT_DOUBLE_EQ(steps["idle_attribution_ms"]["dataloader"], 32);
  EXPECT_DOUBLE_EQ(steps["idle_attribution_ms"]["launch_latency_le30us"], 0.08);
  EXPECT_DOUBLE_EQ(steps["idle_attribution_ms"]["tail_head"], 0.99);
  EXPECT_EQ(audit["findings"][0]["cause"], "loader_cpu_spare_cores");
  EXPECT_EQ(audit["findings"][0]["status"], "likely");
  EXPECT_DOUBLE_EQ(audit["findings"][0]["share"], 0.4);
  EXPECT_EQ(audit["findings"][0]["cost_exact"], "0.032");  // 32 ms at a dollar a second
  EXPECT_EQ(audit["recommendations"][0]["id"], "num_workers");
  EXPECT_DOUBLE_EQ(audit["recommendations"][0]["saving"]["high"], 0.4);
  EXPECT_EQ(audit["cost"]["total_exact"], "0.08");
  EXPECT_EQ(audit["cost"]["waste_exact"], "0.04");
  EXPECT_EQ(audit["window"]["counter"], "kineto.device_activity");
  EXPECT_EQ(audit["window"]["start"], "2023-11-14T22:13:20Z");
  EXPECT_DOUBLE_EQ(audit["traced"][0]["median_ms"], 10);
}

TEST_F(TraceAudit, EveryFormatAndAPipeSayTheSame) {
  const std::string trace = folder_.Write("trace.json", Trace().Text());
  for (const char* format : {"text", "markdown", "html"}) {
    const ProgramRun run = RunIdleburn("audit --quiet --price 4 --format " + std::string(format) + " " + trace);
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_NE(Unwrapped(run.out).find("$1.60 of each GPU-hour"), std::string::npos) << run.out;
  }
  const json plain = AuditJsonOf(trace);
  testing::MustRunTool("gzip -k " + trace);
  const json packed = AuditJsonOf(trace + ".gz");
  const json piped = AuditJsonOf("- <" + trace);
  for (const char* key : {"phases", "findings", "gpu_hours"}) {
    EXPECT_EQ(packed[key], plain[key]) << key;
    EXPECT_EQ(piped[key], plain[key]) << key;
  }
}

TEST_F(TraceAudit, RanksAreDevicesOfOneJob) {
  Trace first;
  first.rank = 0;
  Trace second;
  second.rank = 1;
  const json audit =
      AuditJsonOf(folder_.Write("rank0.json", first.Text()) + " " + folder_.Write("rank1.json", second.Text()));
  EXPECT_EQ(audit["window"]["gpus"].size(), 2U);
  EXPECT_EQ(audit["traced"].size(), 2U);
  EXPECT_DOUBLE_EQ(audit["gpu_hours"]["window"], 0.16 / 3600);
  EXPECT_DOUBLE_EQ(audit["findings"][0]["share"], 0.4);
}

TEST_F(TraceAudit, BesideALogItExplainsTheRunThatTheLogShows) {
  std::string log = "timestamp, index, utilization.gpu [%]\n";
  for (std::int64_t s = 0; s <= 120; ++s) log += SmiStamp(s) + ", 0, 50 %\n";
  Trace part;
  part.base_ns = UnixSeconds(30) * kNanosPerSecond;
  const json audit =
      AuditJsonOf("--price 3600 " + folder_.Write("log.csv", log) + " " + folder_.Write("trace.json", part.Text()));
  EXPECT_EQ(audit["window"]["counter"], "nvidia_smi.utilization.gpu");
  EXPECT_DOUBLE_EQ(audit["gpu_hours"]["window"], 120 / 3600.0);
  EXPECT_EQ(audit["cost"]["total"], "120.00");
  EXPECT_EQ(audit["steps"].size(), 2U);
  const auto has = [&](const char* cause) {
    return std::any_of(audit["findings"].begin(), audit["findings"].end(),
                       [&](const json& f) { return f["cause"] == cause; });
  };
  EXPECT_TRUE(has("loader_cpu_spare_cores"));
}

// The trace alone takes it for a loader with CPUs to spare; the host knows that its workers wait for one.
TEST_F(TraceAudit, BesideARecordingTheHostChoosesTheLoadersFix) {
  const Trace part;
  MadeRecording run;
  run.start = Instant::FromNanos(part.base_ns);
  run.job = {{HostSignal::kWorkerTime, 6 * kNanosPerSecond},
             {HostSignal::kWorkerCpuTime, 17 * kNanosPerSecond / 10},
             {HostSignal::kWorkerCpuWait, 43 * kNanosPerSecond / 10},
             {HostSignal::kPsiCpuSome, kNanosPerSecond}};
  const std::string trace = folder_.Write("trace.json", part.Text());
  const json audit = AuditJsonOf(run.WriteTo((folder_.path() / "run.idleburn").string()) + " " + trace);
  const auto status = [&audit](const char* cause) -> std::string {
    for (const json& f : audit["findings"]) {
      if (f["cause"] == cause) return f["status"];
    }
    return "not named";
  };
  EXPECT_EQ(status("loader_cpu_no_cores"), "confirmed") << audit["findings"];
  EXPECT_EQ(status("loader_cpu_spare_cores"), "not named");
  EXPECT_EQ(AuditJsonOf(trace)["findings"][0]["cause"], "loader_cpu_spare_cores");
}

TEST_F(TraceAudit, WithoutGpuEventsItSaysHowToRecordThem) {
  Trace host;
  host.gpu = false;
  const std::string trace = folder_.Write("trace.json", host.Text());
  const ProgramRun run = RunIdleburn("audit --quiet --price 4 " + trace);
  EXPECT_EQ(run.code, 0);
  EXPECT_NE(Unwrapped(run.out).find("no GPU activity in this file; record with ProfilerActivity.CUDA"),
            std::string::npos)
      << run.out;
  EXPECT_EQ(run.out.find('%'), std::string::npos) << "nothing is known of any share\n" << run.out;
  const json audit = AuditJsonOf(trace);
  EXPECT_EQ(audit["findings"][0]["cause"], "unknown");
  EXPECT_TRUE(audit["findings"][0]["share"].is_null());
  EXPECT_EQ(run.out.find("no price is known"), std::string::npos) << "a price was given\n" << run.out;
  EXPECT_TRUE(audit["steps"].empty());
}

TEST_F(TraceAudit, WhatATornTraceStillHasIsCountedAndSaid) {
  const std::string whole = Trace().Text();
  const std::string torn = folder_.Write("torn.json", whole.substr(0, whole.size() * 3 / 5));
  const json audit = AuditJsonOf(torn);
  const auto row = [&](const char* id) {
    return std::any_of(audit["data_quality"].begin(), audit["data_quality"].end(),
                       [&](const json& r) { return r["id"] == id; });
  };
  EXPECT_TRUE(row("unclosed_profile")) << audit["data_quality"];
  EXPECT_GT(audit["steps"][0]["kernels"]["count"], 3);
  for (const json& f : audit["findings"]) EXPECT_NE(f["status"], "confirmed");
}

// Rows that were dropped, or taken for instants, are lost work: the file is not whole, whatever its brackets say.
TEST_F(TraceAudit, RowsThatCannotBeMakeTheFileIncomplete) {
  const auto audit = [&](const std::string& odd) {
    std::string text = Trace().Text();
    return AuditJsonOf(folder_.Write("odd.json", text.insert(text.find("{\"ph\""), odd)));
  };
  EXPECT_FALSE(audit("")["steps"][0]["events_missing"]);
  const std::string at = "\"device\":0,\"stream\":7";
  for (const auto& [id, odd] : {std::pair("negative_duration", Event("kernel", "backward", 100, -5, 7, at)),
                                std::pair("long_duration", Event("kernel", "endless", 100, 7e11, 7, at)),
                                std::pair("bad_row", Event("kernel", "undated", 1e30, 5, 7, at))}) {
    const json told = audit(odd);
    EXPECT_TRUE(told["steps"][0]["events_missing"]) << id;
    const auto row = std::find_if(told["data_quality"].begin(), told["data_quality"].end(),
                                  [id = id](const json& r) { return r["id"] == id; });
    ASSERT_NE(row, told["data_quality"].end()) << id << told["data_quality"];
    EXPECT_EQ((*row)["count"], 1) << id;
    EXPECT_DOUBLE_EQ(told["steps"][1]["compute_ms"], 40) << id;
  }
}

// How a writer numbers, orders and packs one and the same events says nothing of the job.
TEST_F(TraceAudit, TheFormOfATraceShowsInNoFigure) {
  const std::string text = Trace().Text();
  const auto figures = [&](const std::string& name, const std::string& written) {
    json audit = AuditJsonOf("--price 2 " + folder_.Write(name, written));
    json all = {audit["steps"], audit["findings"], audit["cost"]["waste_exact"], audit["recommendations"]};
    std::string said = all.dump();
    for (std::size_t at = said.find(name); at != std::string::npos; at = said.find(name))
      said.replace(at, name.size(), "");
    return said;
  };
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    for (std::size_t at = other.find(from); at != std::string::npos; at = other.find(from, at + to.size())) {
      other.replace(at, from.size(), to);
    }
    return other;
  };
  const std::size_t first = text.find("{\"ph\"");
  const std::size_t end = text.rfind("]}");
  const std::string events = text.substr(first, end - first);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < events.size();) {
    const std::size_t next = std::min(events.find(",\n", at), events.size());
    lines.push_back(events.substr(at, next - at));
    at = next + 2;
  }
  std::reverse(lines.begin(), lines.end());
  std::string reversed;
  for (const std::string& line : lines) reversed += (reversed.empty() ? "" : ",") + line;
  const std::string expected = figures("as_is.json", text);
  EXPECT_EQ(figures("reversed.json", text.substr(0, first) + reversed + "]}"), expected);
  EXPECT_EQ(figures("bare.json", "[" + events + "]"), expected);
  EXPECT_EQ(figures("header_after.json", "{\"traceEvents\":[" + events + "],\"schemaVersion\":1}"), expected);
  EXPECT_EQ(figures("texts.json", with("\"pid\":1,\"tid\":7", "\"pid\":\"0\",\"tid\":\"stream 7\"")), expected);
  EXPECT_EQ(figures("other_ids.json", with("\"pid\":1,", "\"pid\":4711,")), expected);
  EXPECT_EQ(figures("old_words.json", with("\"kernel\"", "\"Kernel\"")), expected);
  EXPECT_EQ(figures("rocm.json", with("cudaLaunchKernel", "hipLaunchKernel")), expected);
}

TEST_F(TraceAudit, AFileThatIsGivenTwiceWouldCountTwice) {
  const std::string trace = folder_.Write("trace.json", Trace().Text());
  const ProgramRun run = RunIdleburn("audit --quiet " + trace + " " + trace);
  EXPECT_EQ(run.code, 1);
  EXPECT_NE(run.err.find("you gave it twice"), std::string::npos) << run.err;
}

TEST_F(TraceAudit, ATornArchiveIsCountedOnce) {
  Trace trace;
  std::string text = trace.Text();
  for (int i = 0; i < 200; ++i) text += "\n" + std::to_string(1'000'003 * i % 7919);  // enough to cut
  const std::string file = folder_.Write("trace.json", text);
  testing::MustRunTool("gzip -k " + file);
  const std::string packed = testing::ReadText(file + ".gz");
  const json audit = AuditJsonOf(folder_.Write("torn.json.gz", packed.substr(0, packed.size() - 100)));
  int rows = 0;
  for (const json& row : audit["data_quality"]) {
    if (row["id"] != "truncated_input") continue;
    ++rows;
    EXPECT_EQ(row["count"], 1);
  }
  EXPECT_EQ(rows, 1) << audit["data_quality"];
}

// tools/make_example_trace.py: 60 ms in the loader of 60 + 4 + 84 and what the host adds, in eight steps.
TEST_F(TraceAudit, TheShippedExampleShowsWhatItWasMadeToShow) {
  const json audit = AuditJsonOf("--price 4 " IDLEBURN_ROOT "/examples/starved_loader.pt.trace.json.gz");
  EXPECT_EQ(audit["traced"][0]["steps"], 8);
  EXPECT_NEAR(audit["traced"][0]["median_ms"].get<double>(), 148, 1.5);
  EXPECT_EQ(audit["findings"][0]["cause"], "loader_cpu_spare_cores");
  EXPECT_NEAR(audit["findings"][0]["share"].get<double>(), 60 / 148.0, 0.01);
  EXPECT_NEAR(audit["steps"][1]["compute_ms"].get<double>(), 8 * 84, 7);
  EXPECT_EQ(audit["traced"][0]["findings"][0]["cause"], "loader_cpu_spare_cores");
  EXPECT_TRUE(audit["data_quality"].empty()) << audit["data_quality"];
}

// --- what other tools take for health
// ---------------------------------------------------------------------------------

std::string InFiveSteps(const std::string& events) {
  std::string text = "{\"traceEvents\":[\n";
  for (int i = 0; i < 5; ++i)
    text += Event("user_annotation", "ProfilerStep#" + std::to_string(i), 10'000.0 * i, 10'000, 1);
  return text + events + R"({"ph":"i","name":"end"}]})";
}

// Something of a device for `length` us, and the call that launched it.
std::string Work(int id, const std::string& call, double launched, const std::string& category, const std::string& name,
                 double start, double length, const std::string& arguments = "") {
  const std::string correlation = "\"correlation\":" + std::to_string(id);
  return Event("cuda_runtime", call, launched, 4, 1, correlation) +
         Event(category, name, start, length, 7, "\"device\":0," + correlation + arguments);
}

TEST_F(TraceAudit, ADeviceThatIsBusyCopyingIsNotHealthy) {
  std::string events;
  for (int i = 0; i < 50; ++i) {
    events += Work(i + 1, "cudaMemcpyAsync", 1000.0 * i, "gpu_memcpy", "Memcpy HtoD (Pageable -> Device)",
                   1000.0 * i + 10, 990, ",\"bytes\":4096");
  }
  const json audit = AuditJsonOf(folder_.Write("copies.json", InFiveSteps(events)));
  EXPECT_GT(audit["steps"][1]["busy_ms"].get<double>() / audit["steps"][1]["span_ms"].get<double>(), 0.98);
  EXPECT_EQ(audit["steps"][1]["compute_ms"], 0);
  EXPECT_EQ(audit["findings"][0]["cause"], "h2d_small");
  EXPECT_NEAR(audit["findings"][0]["share"].get<double>(), 0.99, 1e-9);
}

TEST_F(TraceAudit, BusyBetweenItsKernelsADeviceMayIdleMostOfTheStep) {
  std::string events;
  for (int i = 0; i < 100; ++i) {
    events += Work(i + 1, "cudaLaunchKernel", 29'000.0 + 207 * i, "kernel", "gemm", 29'005.0 + 207 * i, 205);
  }
  const json audit = AuditJsonOf(folder_.Write("late.json", InFiveSteps(events)));
  const auto busy = [&](std::size_t i) {
    return audit["steps"][i]["busy_ms"].get<double>() / audit["steps"][i]["span_ms"].get<double>();
  };
  EXPECT_EQ(audit["steps"][0]["window"], "gpu_span");
  EXPECT_NEAR(busy(0), 0.99, 0.01);
  EXPECT_NEAR(busy(1), 0.41, 0.01);
  EXPECT_TRUE(audit["steps"][1]["decides"]);
  EXPECT_EQ(audit["findings"][0]["cause"], "unknown");  // one long gap: no launch overhead, and nothing is healthy
  EXPECT_GT(audit["findings"][0]["share"].get<double>(), 0.5);
}

TEST_F(TraceAudit, IdleWhileKernelsAreQueuedIsNoLaunchOverhead) {
  std::string events;
  for (int i = 0; i < 500; ++i) {
    events += Work(i + 1, "cudaLaunchKernel", 5.0 * i, "kernel", "gemm", 3000.0 + 90 * i, 45);
  }
  const json audit = AuditJsonOf(folder_.Write("queued.json", InFiveSteps(events)));
  EXPECT_GT(audit["steps"][1]["idle_attribution_ms"]["queued_wait_gt30us"].get<double>(), 20);
  EXPECT_EQ(audit["findings"][0]["cause"], "straggler_or_dependency");
  for (const json& f : audit["findings"]) EXPECT_NE(f["cause"], "launch_bound");
}

// --- Nsight's figures of memory
// ---------------------------------------------------------------------------------------

// Ten times a kernel of 1 ms after 1 ms of idle time in cudaMalloc, on a GPU of 100 bytes of which `held` are taken.
std::string NsightOfAnAllocator(int held) {
  std::string sql =
      "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
      "INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'cudaLaunchKernel_v7000'), (3, 'cudaMalloc_v3020');"
      "CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, totalMemory INTEGER);"
      "INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H100', 100);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, \"end\" INTEGER, deviceId INTEGER, correlationId "
      "INTEGER, "
      "shortName INTEGER);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, \"end\" INTEGER, globalTid INTEGER, correlationId "
      "INTEGER, nameId INTEGER);"
      "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER, globalPid INTEGER, deviceId INTEGER, bytes INTEGER, "
      "memKind INTEGER, memoryOperationType INTEGER);"
      "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (5, 16777216, 0, " +
      std::to_string(held) + ", 2, 0);";
  for (int i = 0; i < 10; ++i) {
    const auto at = [i](int us) { return std::to_string((2000 * i + us) * 1000) + ", "; };
    sql += "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" + at(0) + at(990) + "16777217, 0, 3), (" + at(991) +
           at(995) + "16777217, " + std::to_string(i + 1) + ", 2);";
    sql += "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" + at(1000) + at(2000) + "0, " + std::to_string(i + 1) +
           ", 1);";
  }
  return sql;
}

TEST_F(TraceAudit, NsightShowsAnAllocatorAtTheEndOfItsMemory) {
  const test::SqliteFile full(NsightOfAnAllocator(90));
  const json finding = AuditJsonOf(full.path())["findings"][0];
  EXPECT_EQ(finding["cause"], "memory_pressure");
  EXPECT_EQ(finding["status"], "likely");
  EXPECT_NEAR(finding["share"].get<double>(), 9 * 0.99 / 19, 1e-9);  // the first kernel begins the window
  const test::SqliteFile room(NsightOfAnAllocator(89));
  EXPECT_EQ(AuditJsonOf(room.path())["findings"][0]["cause"], "unknown");
}

TEST_F(TraceAudit, AGateHoldsForATraceToo) {
  const std::string trace = folder_.Write("trace.json", Trace().Text());
  EXPECT_EQ(RunIdleburn("audit --quiet --fail-on 'waste>49' " + trace).code, 3);
  EXPECT_EQ(RunIdleburn("audit --quiet --fail-on 'waste>51' " + trace).code, 0);
}

TEST_F(TraceAudit, WhatIsNoProfileIsRefusedInOneLine) {
  testing::MustRunTool("python3 -c \"import sqlite3; c = sqlite3.connect('" + folder_.path().string() +
                       "/notes.sqlite'); c.execute('create table notes (text)'); c.commit()\"");
  for (const std::string& file : {folder_.path().string() + "/notes.sqlite",
                                  folder_.Write("report.nsys-rep", std::string("\x01\x02\0binary", 9))}) {
    const ProgramRun run = RunIdleburn("audit --quiet " + file);
    EXPECT_EQ(run.code, 1) << file;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    EXPECT_NE(run.err.find("nsys export"), std::string::npos) << run.err;
  }
}

}  // namespace
}  // namespace idleburn
