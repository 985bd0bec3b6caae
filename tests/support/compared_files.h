#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string>

#include "support/made_recording.h"
#include "support/program.h"

namespace idleburn::testing {

inline std::int64_t Now() { return std::time(nullptr); }

// A log of work: `rows` steps on `gpus` GPUs, `step` seconds each and a little more or less in turn, from `start`.
struct WorkLog {
  double start = 0;
  int rows = 200;
  double step = 0.2;
  double gpus = 1;
  double samples = 32;
  double noise = 0.001;
  std::string unit = "samples";

  [[nodiscard]] std::string Text() const {
    std::string text = "time_s,gpu_seconds," + unit + "\n";
    double at = start;
    for (int i = 0; i < rows; ++i) {
      const double seconds = step * (1 + noise * std::sin(12.9898 * (i + 1) + start));
      at += seconds;
      text += fmt::format("{:.6f},{:.9f},{}\n", at, gpus * seconds, samples);
    }
    return text;
  }
};

// A user with files of both sides.
class ComparedFiles : public ::testing::Test {
 protected:
  std::string Put(const std::string& name, const WorkLog& log) const { return folder_.Write(name, log.Text()); }
  std::string Record(const std::string& name, const MadeRecording& run) const {
    return run.WriteTo((folder_.path() / name).string());
  }
  [[nodiscard]] std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }

  // Three runs a side, dated around the present, so that a claim written now lies between them.
  std::string Three(const std::string& name, double step, bool after, double samples = 32) const {
    std::string names;
    for (int i = 0; i < 3; ++i) {
      WorkLog log;
      log.start = static_cast<double>(Now() + (after ? 3600 : -7200) + i * 600);
      log.step = step * (1 + 0.0004 * (i - 1));
      log.samples = samples;
      names += " '" + Put(fmt::format("{}{}.csv", name, i), log) + "'";
    }
    return names;
  }
  static nlohmann::json Compare(const std::string& arguments, int code = 0) {
    const ProgramRun run = RunIdleburn("compare " + arguments + " --format json");
    EXPECT_EQ(run.code, code) << run.err;
    nlohmann::json document = nlohmann::json::parse(run.out, nullptr, false);
    EXPECT_TRUE(document.is_object()) << run.out << run.err;
    return document;
  }
  static bool HasReason(const nlohmann::json& document, const std::string& id) {
    for (const nlohmann::json& reason : document.at("reasons")) {
      if (reason == id) return true;
    }
    return false;
  }
  // One line on standard error, and nothing else.
  static void Refused(const std::string& arguments, int code, const std::string& what) {
    const ProgramRun run = RunIdleburn(arguments);
    EXPECT_EQ(run.code, code) << arguments << "\n" << run.err;
    EXPECT_NE(run.err.find(what), std::string::npos) << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    EXPECT_EQ(run.out, "");
  }
  [[nodiscard]] std::string Claim(const std::string& baseline, const std::string& flags = "") const {
    const std::string path = Path("claim.json");
    const ProgramRun run =
        RunIdleburn("claim" + baseline + " -o " + path + " --boundary 'job a' --measure 'faster steps' " + flags);
    EXPECT_EQ(run.code, 0) << run.err;
    return path;
  }

  TempFolder folder_;
};

}  // namespace idleburn::testing
