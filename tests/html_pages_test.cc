// HTML reports in a real browser: nothing overflows a phone, texts do not touch, sections are folded on a screen and
// open on paper, and axe finds no violation of WCAG A or AA. Screenshots are left in the build folder.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "places.h"
#include "support/counter_fleet.h"
#include "support/engines.h"
#include "support/made_recording.h"
#include "support/program.h"
#include "support/read_inputs.h"

namespace idleburn::testing {
namespace {

constexpr const char* kAxe = IDLEBURN_ROOT "/.deps/share/axe-core/axe.min.js";
constexpr const char* kShots = IDLEBURN_BUILD "/html_pages";
constexpr int kScreens = 6;  // three widths, light and dark

// Why no page can be opened here; empty if one can.
std::string WhatIsMissing() {
  const std::string missing = testing::WithoutPrograms({"chromium", "chromedriver", "python3"});
  if (!missing.empty()) return missing;
  return std::filesystem::exists(kAxe) ? "" : "no axe-core (tools/install_deps.sh test)";
}

// What is wrong with these pages, and the number of screens on which each was opened.
ProgramRun Look(const std::string& pages) {
  std::filesystem::create_directories(kShots);
  return RunShell(fmt::format("python3 {}/tests/programs/html_pages.py {} {} {}", IDLEBURN_ROOT, kAxe, kShots, pages));
}

void ExpectNothingWrong(const std::string& pages, int count) {
  const ProgramRun run = Look(pages);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out, fmt::format("{} screens\n", count * kScreens)) << "screenshots: " << kShots;
}

// The HTML of a command, in that folder.
std::string Page(const TempFolder& folder, const std::string& name, const std::string& arguments) {
  std::string path = (folder.path() / name).string();
  const ProgramRun run = RunIdleburn(arguments + " --format html -o " + path);
  EXPECT_TRUE(std::filesystem::exists(path)) << run.err;
  return path;
}

// Ten minutes of 150 GPUs: some idle throughout, others in turn.
std::string FleetLog(const TempFolder& folder) {
  std::string csv = "timestamp, index, uuid, name, utilization.gpu [%], memory.used [MiB], memory.total [MiB]\n";
  for (int second = 0; second < 600; second += 10) {
    for (int gpu = 0; gpu < 150; ++gpu) {
      const bool idle = gpu % 7 == 0 || (second / 100 + gpu) % 5 == 0;
      csv += fmt::format(
          "2026/10/05 09:{:02}:{:02}.000, {}, GPU-{:08x}-0000-0000-0000-000000000000, NVIDIA H100 80GB HBM3, {} %, "
          "{} MiB, 81559 MiB\n",
          second / 60, second % 60, gpu, gpu, idle ? 0 : 60 + (second + gpu * 7) % 41, 20'000 + gpu * 100);
    }
  }
  return folder.Write("fleet.csv", csv);
}

// A recorded run with readings of the job and of the machine.
std::string HostRecording(const TempFolder& folder) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  constexpr std::int64_t kMegabyte = 1'000'000;
  MadeRecording recording;
  recording.start = Instant::FromNanos(1'783'117'320 * kSecond);
  recording.seconds = 120;
  recording.gpus = 2;
  recording.memory_mib = 40 << 10;
  recording.job = {{HostSignal::kCpuTime, 3 * kSecond}, {HostSignal::kReadBytes, 250 * kMegabyte}};
  recording.machine = {{HostSignal::kCpuTime, 5 * kSecond},
                       {HostSignal::kWriteBytes, 20 * kMegabyte},
                       {HostSignal::kNetReceived, 100 * kMegabyte},
                       {HostSignal::kNetSent, 7 * kMegabyte}};
  return recording.WriteTo((folder.path() / "host.idleburn").string());
}

// The data of the charts of a page.
nlohmann::json ChartsOf(const std::string& path) {
  const std::string html = ReadText(path);
  const std::string mark = "id=\"chart-data\">";
  const std::size_t from = html.find(mark) + mark.size();
  return nlohmann::json::parse(html.substr(from, html.find("</script>", from) - from));
}

std::size_t Count(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(HtmlPages, FitEveryScreenAndEverybody) {
  if (const std::string missing = WhatIsMissing(); !missing.empty()) GTEST_SKIP() << missing;
  const TempFolder folder;
  const std::string pages =
      Page(folder, "demo.html", "demo") + " " + Page(folder, "fleet.html", "audit --price 3 " + FleetLog(folder)) +
      " " + Page(folder, "host.html", "audit " + HostRecording(folder)) + " " +
      Page(folder, "tco.html", "tco " IDLEBURN_ROOT "/examples/tco.toml") + " " +
      Page(folder, "trace.html", "audit " IDLEBURN_ROOT "/examples/starved_loader.pt.trace.json.gz");
  ExpectNothingWrong(pages, 5);
}

// A trace of a million kernels and gaps, on two lanes of one GPU: drawing it may not freeze the page.
TEST(HtmlPages, AMillionEventsAreDrawnAtOnce) {
  if (const std::string missing = WhatIsMissing(); !missing.empty()) GTEST_SKIP() << missing;
  const TempFolder folder;
  std::string trace = "{\"traceEvents\":[\n";
  for (int i = 0; i < 1'000'000; ++i) {
    trace += fmt::format(
        R"({{"ph":"X","cat":"kernel","name":"k{}","pid":0,"tid":7,"ts":{},"dur":{},"args":{{"device":0}}}},)", i % 50,
        10 * i, 1 + i % 9);
  }
  trace.back() = ']';
  ExpectNothingWrong(Page(folder, "million.html", "audit " + folder.Write("million.json", trace + "}")), 1);
}

// Bars and lines of a cluster. All that it shows is on the page: no server is needed to read it.
TEST(HtmlPages, APageOfAClusterHasItsPanels) {
  std::string missing = WhatIsMissing();
  if (missing.empty()) missing = testing::WithoutPrograms({"victoria-metrics"});
  if (!missing.empty()) GTEST_SKIP() << missing;
  const TempFolder folder;
  TestEngines engines;
  constexpr std::int64_t kBegin = 1'772'409'600;  // 2026-03-02T00:00:00Z
  CounterFleet fleet(kBegin, kBegin + 6 * 3600, 60);
  for (int node = 0; node < 12; ++node) {
    const std::string name = fmt::format("rack-17-with-a-long-name-node-{:02}", node);
    fleet.Add({name, {"GPU-" + name + "-0", "GPU-" + name + "-1"}, {kBegin - 2 * 3600}});
  }
  const std::string url = engines.VictoriaWith(folder.Write("import.jsonl", fleet.ImportLines()));
  const std::string page = Page(folder, "cluster.html",
                                "fleet --price 3 --from 2026-03-02 --to 2026-03-02T06:00:00Z --engine " + url +
                                    " --ledger " + (folder.path() / "ledger").string());
  const std::string html = ReadText(page);
  for (const char* part : {"From all GPUs to effective ones", "GPU hardware: Memory in use by node", "4 smaller series",
                           "class=\"line line-7\"", "2026-03-02T06:00:00Z"}) {
    EXPECT_NE(html.find(part), std::string::npos) << part;
  }
  ExpectNothingWrong(page, 1);
}

// The check itself: a page with every fault that it looks for.
TEST(HtmlPages, FaultsAreFound) {
  if (const std::string missing = WhatIsMissing(); !missing.empty()) GTEST_SKIP() << missing;
  const TempFolder folder;
  const std::string page = folder.Write("bad.html", R"(<!doctype html>
<html lang="en"><head><title>bad</title></head><body><h1 style="display:none">x</h1>
<details open><summary>a</summary><p>text</p></details><details><summary>b</summary><p>text</p></details>
<div class="axis"><span>09:30:00</span><span>10:30:00</span></div>
<p style="width:2000px;color:#ccc">pale</p><table><tr><td>1</td></tr></table>
<img alt="" src="other.png">
<div id="plots"><canvas width="900" height="50"></canvas></div>
<section id="timeline" hidden></section><script type="application/json" id="timeline-data">{"gpus":[]}</script>
<script type="application/json" id="chart-data">
{"gpus":[{"label":"GPU 0","memory":[1]}],"host":{"machine":{"cpus":[1]}}}
</script>
<style>@media print { body { color: #fff } }</style>
<script>
const c = document.querySelector("canvas").getContext("2d");
c.clearRect(0, 0, 9, 9);
c.fillText("11:00:00", 0, 20);
c.fillText("12:00:00", 20, 20);
c.fillText("13:00:00", 890, 20);
</script></body></html>
)");
  const ProgramRun run = Look(page);
  EXPECT_EQ(run.code, 0) << run.err;
  for (const char* fault :
       {"bad.html at 390, light: the page is 2008 wide on a screen of 390", "\"09:30:00\" touches \"10:30:00\"",
        "\"11:00:00\" touches \"12:00:00\"", "\"13:00:00\" is cut off by its chart", "a section is open at first",
        "not folded", "the first screen hides H1", "the page loads something", "color-contrast", "not drawn: GPU 0",
        "the timeline is hidden", "not drawn: Memory used", "not drawn: Busy CPUs, machine", "a plot is missing",
        "on paper: not printed: b", "on paper: the text on paper is light", "on paper: a section is closed on paper",
        "on paper: a chart is wider than the paper"}) {
    EXPECT_NE(run.out.find(fault), std::string::npos) << fault << "\n" << run.out;
  }
}

TEST(HtmlPages, ManyGpusAreFoldedButForTheWorst) {
  const TempFolder folder;
  const std::string html = ReadText(Page(folder, "fleet.html", "audit --price 3 " + FleetLog(folder)));
  EXPECT_EQ(Count(html, "class=\"ribbon\""), 150U);
  const std::size_t rest = html.find("<h2>134 more GPUs over time</h2>");
  ASSERT_NE(rest, std::string::npos);
  EXPECT_EQ(Count(html.substr(0, rest), "class=\"ribbon\""), 16U);
  // Every seventh GPU was idle throughout; there are 22.
  EXPECT_EQ(Count(html.substr(0, rest), "productive 0, compute_bound 0 GPU-hours\"><title>"), 16U);
  EXPECT_NE(html.find("<span class=\"label\">GPU 149</span>"), std::string::npos);
}

TEST(HtmlPages, ChartsHaveTheMemoryAndTheHost) {
  const TempFolder folder;
  const nlohmann::json charts = ChartsOf(Page(folder, "host.html", "audit " + HostRecording(folder)));
  ASSERT_EQ(charts["gpus"].size(), 2U);
  EXPECT_EQ(charts["gpus"][1]["memory"][30], 40.0);  // GiB
  EXPECT_EQ(charts["gpus"][1]["memory_total"], 80.0);
  const nlohmann::json& host = charts["host"];
  EXPECT_EQ(host["workload"]["cpus"][30], 3.0);
  EXPECT_EQ(host["workload"]["read"][30], 250.0);  // MB/s
  EXPECT_EQ(host["machine"]["cpus"][30], 5.0);
  EXPECT_EQ(host["machine"]["write"][30], 20.0);
  EXPECT_EQ(host["machine"]["received"][30], 100.0);
  EXPECT_EQ(host["machine"]["sent"][30], 7.0);
  EXPECT_EQ(host["machine"]["start"], 1'783'117'320);
  EXPECT_FALSE(host["machine"].contains("read"));  // not read, so not drawn
}

}  // namespace
}  // namespace idleburn::testing
