// The setting output.format, --format and the ending of -o, over the commands: one rule for all of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "places.h"
#include "support/program.h"
#include "support/smi_log.h"

namespace idleburn::testing {
namespace {

// A command that is quick, and the formats that it writes.
struct Writer {
  std::string words;
  std::vector<std::string> writes;  // its own first
};

class OutputFormats : public ::testing::Test {
 protected:
  OutputFormats() {
    std::string log = "timestamp, index, uuid, name, utilization.gpu [%]\n";
    for (int s = 0; s < 30; ++s) log += SmiStamp(s) + ", 0, GPU-0, NVIDIA H100 80GB HBM3, 50 %\n";
    log_ = folder_.Write("gpu.csv", log);
    const std::vector<std::string> all = {"text", "json", "html", "csv", "markdown"};
    const std::vector<std::string> page = {"text", "json", "html", "markdown"};
    const std::string history = " --history " + (folder_.path() / "history.db").string();
    writers_ = {{"audit " + log_ + " --timezone UTC", all},
                {"demo", all},
                {"combine --fix .3 --waste .5", {"text", "json"}},
                {"plan --model llama-3.1-8b --method lora --seq-len 4096 --gpu rtx4090 --samples 100000", page},
                {"plan --step 45%@220ms --step-to 80%", page},
                {"plan --errors" + history, all},
                {"tco " IDLEBURN_ROOT "/examples/tco.toml", all},
                {"doctor", page},
                {"history list" + history, {"text", "json", "csv", "markdown"}},
                {"history export" + history, {"json", "csv"}},
                {"ledger" + history, {"text", "json", "csv", "markdown"}},
                {"export " + log_ + " --timezone UTC", {"csv"}},
                {"isolate -- true", page},
                {"drill -- true", page}};
  }
  ProgramRun Run(const Writer& writer, const std::string& setting, std::string flags = {}) {
    std::string words = writer.words;
    if (const std::size_t dashes = words.find(" -- "); dashes != std::string::npos) {
      flags += words.substr(dashes);
      words.resize(dashes);
    }
    const std::string env = setting.empty() ? "" : "IDLEBURN_CFG_OUTPUT_FORMAT=" + setting + " ";
    return RunShell(env + "timeout 60 " IDLEBURN_PROGRAM " " + words + " " + flags);
  }
  // How such a document begins, as far as that tells it.
  static std::string FormatOf(const std::string& text) {
    if (text.starts_with("{")) return "json";
    if (text.starts_with("<!doctype") || text.starts_with("<!DOCTYPE")) return "html";
    const std::string first = text.substr(0, text.find('\n'));
    if (first.starts_with("# ") || first.starts_with("|") || first.starts_with("**")) return "markdown";
    return first.find(',') != std::string::npos && first.find(' ') == std::string::npos ? "csv" : "text";
  }
  static bool Writes(const Writer& w, const std::string& format) {
    return std::find(w.writes.begin(), w.writes.end(), format) != w.writes.end();
  }

  TempFolder folder_;
  std::string log_;
  std::vector<Writer> writers_;
};

TEST_F(OutputFormats, ASettingCountsWhereItCanAndIsNeverAnError) {
  for (const Writer& w : writers_) {
    const ProgramRun plain = Run(w, "");
    ASSERT_NE(plain.code, -1) << w.words;
    for (const std::string format : {"json", "html", "csv", "markdown", "parquet"}) {
      const ProgramRun run = Run(w, format);
      EXPECT_EQ(run.code, plain.code) << w.words << " " << format << "\n" << run.err;
      EXPECT_EQ(run.err.find("--format"), std::string::npos) << w.words << run.err;
      if (plain.out.empty()) continue;  // it has nothing to write without what it measures
      EXPECT_EQ(FormatOf(run.out) == "json", Writes(w, format) ? format == "json" : w.writes.front() == "json")
          << w.words << " " << format << "\n"
          << run.out.substr(0, 200);
      EXPECT_EQ(FormatOf(run.out) == "html", Writes(w, format) && format == "html") << w.words << " " << format;
      if (!Writes(w, format)) continue;
      EXPECT_EQ(FormatOf(run.out), FormatOf(Run(w, "", "--format " + format).out)) << w.words << " " << format;
    }
  }
}

TEST_F(OutputFormats, AFlagThatCannotBeIsAnErrorThatNamesWhatCan) {
  for (const Writer& w : writers_) {
    for (const std::string format : {"text", "html", "csv", "pdf"}) {
      if (Writes(w, format)) continue;
      const ProgramRun run = Run(w, "json", "--format " + format);
      EXPECT_EQ(run.code, 2) << w.words << " " << format << run.out.substr(0, 200);
      EXPECT_NE(run.err.find("--format is " + w.writes.front()), std::string::npos) << w.words << run.err;
    }
  }
}

TEST_F(OutputFormats, TheEndingOfAFileComesBeforeTheSetting) {
  for (const Writer& w : writers_) {
    if (!Writes(w, "json") || Run(w, "").out.empty()) continue;  // nothing to write without what it measures
    const std::string file = (folder_.path() / "report.json").string();
    Run(w, w.writes.front() == "text" ? "text" : "csv", "-o " + file);
    std::ostringstream written;
    written << std::ifstream(file).rdbuf();
    EXPECT_EQ(FormatOf(written.str()), "json") << w.words << "\n" << written.str().substr(0, 200);
    std::filesystem::remove(file);
  }
}

}  // namespace
}  // namespace idleburn::testing
