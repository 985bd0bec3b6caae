// What the program makes of a trace beside its audit: time by operator and module, the difference of two traces, tracks
// for Perfetto, the timeline of its page. The traces are written here, so every figure is known.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "places.h"
#include "support/documented_keys.h"
#include "support/program.h"
#include "support/read_inputs.h"
#include "support/shared_data.h"

namespace idleburn::testing {
namespace {

using nlohmann::json;

std::string Entry(const std::string& category, const std::string& name, int us, int length, int thread,
                  const std::string& arguments = "") {
  return fmt::format(R"({{"ph":"X","cat":"{}","name":"{}","pid":1,"tid":{},"ts":{},"dur":{},"args":{{{}}}}},)"
                     "\n",
                     category, name, thread, us, length, arguments);
}

// `steps` steps of 10 ms: the loader waits for `loader` us, then the module Net launches a product of 2 x 1000 x 1000 x
// 1000 FLOPs whose kernel takes `kernel` us.
std::string TraceOf(int steps, int loader, int kernel) {
  std::string text =
      R"({"schemaVersion":1,"deviceProperties":[{"id":0,"name":"NVIDIA H100 80GB HBM3"}],"traceEvents":[)"
      "\n";
  for (int i = 0; i < steps; ++i) {
    const int at = 10'000 * i;
    const std::string id = fmt::format("\"correlation\":{}", i + 1);
    text += Entry("user_annotation", fmt::format("ProfilerStep#{}", i), at, 10'000, 1);
    text += Entry("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, loader, 1);
    text += Entry("python_function", "train.py(12): step", at + loader, 100, 1);
    text += Entry("python_function", "nn.Module: Net_0", at + loader, 100, 1);
    text += Entry("cpu_op", "aten::mm", at + loader + 10, 50, 1,
                  R"("Input Dims":[[1000,1000],[1000,1000]],"Input type":["c10::BFloat16","c10::BFloat16"])");
    text += Entry("cuda_runtime", "cudaLaunchKernel", at + loader + 20, 10, 1, id);
    text += Entry("kernel", "nvjet_gemm", at + loader + 40, kernel, 7, "\"device\":0,\"stream\":7," + id);
  }
  text.resize(text.size() - 2);
  return text + "\n]}\n";
}

const json* RowOf(const json& rows, const std::string& by, const std::string& name) {
  for (const json& row : rows) {
    if (row["by"] == by && row["name"] == name) return &row;
  }
  return nullptr;
}

TEST(TraceViews, TimeByOperatorModuleAndLineWithDollars) {
  const TempFolder folder;
  const std::string trace = folder.Write("a.json", TraceOf(5, 4000, 5000));
  const json audit = AuditJsonOf("--price 4 " + trace);
  const json& time = audit["traced"][0]["time"];
  EXPECT_EQ(time["busy_ms"], 25.0);
  for (const auto& [by, name] : std::map<std::string, std::string>{{"kernel", "nvjet_gemm"},
                                                                   {"family", "matrix multiply"},
                                                                   {"operator", "aten::mm"},
                                                                   {"module", "Net"},
                                                                   {"python", "train.py(12): step"}}) {
    const json* row = RowOf(time["rows"], by, name);
    ASSERT_NE(row, nullptr) << by << time;
    EXPECT_EQ((*row)["count"], 5);
    EXPECT_EQ((*row)["own_ms"], 25.0);
    EXPECT_EQ((*row)["share"], 0.5);
    EXPECT_EQ((*row)["of_gpu_hour"], "2.00");
  }
  // 1e10 FLOPs in 50 ms of 989 TFLOP/s.
  const json& roofline = audit["traced"][0]["roofline"];
  EXPECT_EQ(roofline["flops"], 1e10);
  EXPECT_NEAR(roofline["mfu"].get<double>(), 1e10 / (0.05 * 989e12), 1e-12);
  const std::string text = RunIdleburn("audit --full --price 4 " + trace).out;
  for (const char* words : {"GPU time by kernel", "GPU time by operator", "GPU time by module", "aten::mm", "$2.00",
                            "Arithmetic against the peak", "MFU"}) {
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
  }
  const json plain = AuditJsonOf(folder.Write("b.json", "[" + Entry("kernel", "k", 0, 10, 7, "\"device\":0") + "{}]"));
  EXPECT_TRUE(plain["traced"][0]["roofline"].is_null());
  EXPECT_EQ(plain["traced"][0]["roofline_reason"], "no_shapes_recorded");
}

TEST(TraceViews, DifferenceOfTwoTraces) {
  const TempFolder folder;
  const std::string a = folder.Write("a.json", TraceOf(5, 4000, 5000));
  const std::string b = folder.Write("b.json", TraceOf(5, 1000, 5500));
  const ProgramRun run = RunIdleburn("audit --price 3.60 " + a + " --vs " + b + " --format json");
  ASSERT_EQ(run.code, 0) << run.err;
  const json diff = json::parse(run.out);
  EXPECT_EQ(diff["schema"], "idleburn.trace_diff/1");
  EXPECT_EQ(diff["per"], "step");
  const json* row = RowOf(diff["rows"], "operator", "aten::mm");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ((*row)["before_ms"], 5.0);
  EXPECT_EQ((*row)["after_ms"], 5.5);
  // 0.5 ms x 1,000 = 0.5 s of $3.60 an hour.
  EXPECT_EQ((*row)["change_per_1000_steps_exact"], "0.0005");
  double parts = 0;
  for (const json& part : diff["parts"]) parts += part["change_ms"].get<double>();
  EXPECT_NEAR(parts, diff["window"]["change_ms"].get<double>(), 1e-9);
  const std::string text = Unwrapped(RunIdleburn("audit " + a + " --vs " + b).out);
  EXPECT_NE(text.find("idleburn compare judges whether a change saves money"), std::string::npos) << text;
  EXPECT_EQ(text.find("A step takes 10 ms of one GPU instead of 10 ms"), 0U) << text;
}

// Amounts have a sibling with all decimals, which no page lists.
json WithoutExact(const json& value) {
  if (!value.is_structured()) return value;
  json copy = value;
  for (auto at = copy.begin(); at != copy.end();) {
    const bool exact = copy.is_object() && at.key().ends_with("_exact");
    if (!exact) *at = WithoutExact(*at);
    if (exact) {
      at = copy.erase(at);
    } else {
      ++at;
    }
  }
  return copy;
}

TEST(TraceViews, DifferenceIsDocumented) {
  const TempFolder folder;
  const std::string a = folder.Write("a.json", TraceOf(3, 4000, 5000));
  const std::string b = folder.Write("b.json", TraceOf(5, 1000, 5500));
  const ProgramRun run = RunIdleburn("audit --price 3.60 " + a + " --vs " + b + " --format json");
  const std::string document = WithoutExact(json::parse(run.out)).dump();
  test::ExpectDocumented("idleburn.trace_diff/1", {&document, 1});
}

// A real pair, a loader with 0 and with 4 workers: its published median steps are 176.27 and 126.55 ms over all six;
// the first and the last do not count here. Means say 20.1 %.
TEST(TraceViews, DifferenceOfAPublishedPair) {
  const std::string a = test::SharedPath("data/profiler_traces/D01_resnet50_nw0_a.json.gz").string();
  const std::string b = test::SharedPath("data/profiler_traces/D02_resnet50_nw4_a.json.gz").string();
  if (!std::filesystem::exists(a) || !std::filesystem::exists(b)) GTEST_SKIP() << a << " is missing";
  const ProgramRun run = RunIdleburn("audit " + a + " --vs " + b + " --format json");
  ASSERT_EQ(run.code, 0) << run.err;
  const json diff = json::parse(run.out);
  const double mean = diff["window"]["after_ms"].get<double>() / diff["window"]["before_ms"].get<double>() - 1;
  EXPECT_NEAR(mean, -0.201, 5e-4);
  const double median =
      diff["after"]["median_step_ms"].get<double>() / diff["before"]["median_step_ms"].get<double>() - 1;
  EXPECT_NEAR(median, -0.284, 5e-4);
  double idle = 0;
  for (const json& part : diff["parts"]) idle = part["name"] == "idle" ? part["change_ms"].get<double>() : idle;
  EXPECT_LT(idle, 0.8 * diff["window"]["change_ms"].get<double>()) << "the loader's idle time is what went away";
}

TEST(TraceViews, DifferenceNeedsTwoTraces) {
  const TempFolder folder;
  const std::string trace = folder.Write("a.json", TraceOf(5, 4000, 5000));
  const std::string log = folder.Write("log.csv",
                                       "timestamp, index, utilization.gpu [%]\n2026/01/01 00:00:00.000, 0, 5 %\n"
                                       "2026/01/01 00:00:01.000, 0, 95 %\n");
  const ProgramRun other = RunIdleburn("audit " + trace + " --vs " + log);
  EXPECT_EQ(other.code, 1);
  EXPECT_NE(other.err.find("is no profiler's file"), std::string::npos) << other.err;
  const ProgramRun gate = RunIdleburn("audit " + trace + " --vs " + trace + " --fail-on 'waste>5'");
  EXPECT_EQ(gate.code, 2);
  EXPECT_NE(gate.err.find("--fail-on has no meaning with --vs"), std::string::npos) << gate.err;
}

// The structure that Chrome's trace format demands, and times that add up to the audit's.
TEST(TraceViews, GapsAsTracksForPerfetto) {
  const TempFolder folder;
  const std::string trace = folder.Write("a.json", TraceOf(5, 4000, 5000));
  const ProgramRun run = RunIdleburn("export " + trace + " --format perfetto");
  ASSERT_EQ(run.code, 0) << run.err;
  const json document = json::parse(run.out);
  std::map<std::string, double> us;
  std::map<std::pair<int, int>, double> last_end;
  int names = 0;
  for (const json& event : document["traceEvents"]) {
    ASSERT_TRUE(event["pid"].is_number_integer() && event["tid"].is_number_integer()) << event;
    if (event["ph"] == "M") {
      ++names;
      EXPECT_TRUE(event["args"]["name"].is_string());
      continue;
    }
    ASSERT_EQ(event["ph"], "X");
    const double start = event["ts"].get<double>();
    const double length = event["dur"].get<double>();
    double& end = last_end[{event["pid"].get<int>(), event["tid"].get<int>()}];
    EXPECT_GE(start + 1e-3, end) << "slices of one track overlap";
    end = start + length;
    if (event["tid"] == 1) us[event["name"]] += length;
  }
  EXPECT_EQ(names, 4);  // the process and its three tracks
  const json audit = AuditJsonOf(trace);
  double idle = 0;
  for (const auto& [name, length] : us) idle += length / 1000;
  EXPECT_NEAR(idle, audit["steps"][1]["idle_ms"].get<double>(), 1e-9);
  EXPECT_NEAR(us["loader_cpu_spare_cores"], 20'000, 1e-6);
  const std::string path = (folder.path() / "gaps.perfetto.json").string();
  EXPECT_EQ(RunIdleburn("export " + trace + " -o " + path).code, 0);
  EXPECT_EQ(ReadText(path), run.out);
  const ProgramRun none = RunIdleburn("export " IDLEBURN_ROOT "/examples/finetune_4xh100.csv.gz --format perfetto");
  EXPECT_EQ(none.code, 1);
  EXPECT_NE(none.err.find("has no GPU events of a profiler"), std::string::npos) << none.err;
}

json TimelineOf(const std::string& html) {
  const std::string mark = "id=\"timeline-data\">";
  const std::size_t from = html.find(mark) + mark.size();
  return json::parse(html.substr(from, html.find("</script>", from) - from));
}

TEST(TraceViews, TimelineOfThePageHasEveryEventOfASmallTrace) {
  const TempFolder folder;
  const std::string trace = folder.Write("a.json", TraceOf(5, 4000, 5000));
  const std::string html = RunIdleburn("audit " + trace + " --format html").out;
  const json timeline = TimelineOf(html);
  const json& gpu = timeline["gpus"][0];
  EXPECT_EQ(gpu["events"], 5);
  EXPECT_EQ(gpu["event"].size(), 20U);
  EXPECT_EQ(gpu["step"].size(), 15U);
  EXPECT_EQ(gpu["window"], 50'000'000);
  double idle = 0;
  for (std::size_t i = 1; i < gpu["gap"].size(); i += 4) idle += gpu["gap"][i].get<double>();
  EXPECT_EQ(idle, 25e6);
  double columns = 0;
  for (std::size_t i = 0; i < gpu["columns"][0]["rows"].size(); i += 2)
    columns += gpu["columns"][0]["rows"][i].get<double>();
  EXPECT_EQ(columns, 25e6);
  EXPECT_NE(html.find("id=\"cause-loader_cpu_spare_cores\""), std::string::npos) << "a gap links to its evidence";
}

// A million events: the page stays small, and its columns still hold all of the idle time.
TEST(TraceViews, TimelineOfAMillionEventsStaysSmall) {
  const TempFolder folder;
  std::string text = "{\"traceEvents\":[\n";
  constexpr int kEvents = 1'000'000;
  text.reserve(std::size_t{90} * kEvents);
  for (int i = 0; i < kEvents; ++i) {
    text += fmt::format(
        R"({{"ph":"X","cat":"kernel","name":"k{}","pid":0,"tid":7,"ts":{},"dur":{},"args":{{"device":0}}}},)", i % 50,
        10 * i, 1 + i % 9);
  }
  text.back() = ']';
  const std::string html = RunIdleburn("audit " + folder.Write("a.json", text + "}") + " --format html").out;
  EXPECT_LT(html.size(), 8'000'000U);
  const json timeline = TimelineOf(html);
  const json& gpu = timeline["gpus"][0];
  EXPECT_EQ(gpu["events"], kEvents);
  EXPECT_LE(gpu["event"].size(), 4U * 40'000);
  for (const json& level : gpu["columns"]) {
    double idle = 0;
    for (std::size_t i = 0; i < level["rows"].size(); i += 2) idle += level["rows"][i].get<double>();
    EXPECT_NEAR(idle, 5e9, 1e5) << level["width"];  // 10 us each less 1 to 9, but for the last gap
  }
  EXPECT_EQ(gpu["columns"].size(), 2U);
}

}  // namespace
}  // namespace idleburn::testing
