#include "config/output_format.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <optional>

namespace idleburn {
namespace {

using enum ReportFormat;
constexpr std::array<ReportFormat, 2> kDocument = {kText, kJson};
constexpr std::array<ReportFormat, 3> kTables = {kJson, kCsv, kParquet};

class OutputFormatTest : public ::testing::Test {
 protected:
  OutputFormatTest()
      : path_(std::filesystem::temp_directory_path() / ("idleburn_format_" + std::to_string(getpid()) + ".toml")) {}
  ~OutputFormatTest() override { std::filesystem::remove(path_); }
  // What is chosen; in words what is wrong. `setting`, `flag`: empty where not given.
  std::string Chosen(std::span<const ReportFormat> writes, const std::string& flag, const std::string& output,
                     const std::string& setting) {
    std::ofstream(path_) << (setting.empty() ? "" : "[output]\nformat = \"" + setting + "\"\n");
    std::map<std::string, std::string> flags;
    if (!flag.empty()) flags["--format"] = flag;
    const Result<Settings> settings = Settings::Load(path_.string(), flags);
    const Result<ReportFormat> format = ChooseFormat(settings.value(), "plan", output, writes);
    return format ? NamesOf(std::array{*format}) : format.error().message;
  }

  std::filesystem::path path_;
};

TEST_F(OutputFormatTest, TheFlagComesBeforeTheEndingBeforeTheSettingBeforeTheCommandsOwn) {
  const struct {
    std::string flag, output, setting, document, tables;
  } cases[] = {
      {"", "", "", "text", "json"},           {"json", "a.csv", "text", "json", "json"},
      {"", "a.json", "text", "json", "json"}, {"", "dir.json/a", "", "text", "json"},  // a folder is no ending
      {"", ".json", "", "text", "json"},                                               // nor is a name
      {"", "", "json", "json", "json"},       {"", "a", "json", "json", "json"},
      {"", "", "csv", "text", "csv"},  // for all commands: where it can be
      {"", "", "html", "text", "json"},       {"", "", "markdown", "text", "json"},
      {"", "a.txt", "", "text", "json"},      {"", "a.log", "", "text", "json"},
      {"", "runs.jsonl", "", "json", "json"}, {"", "run-2.5", "", "text", "json"},
      {"", "a.md", "json", "json", "json"},   {"", "a", "parquet", "text", "parquet"},
      {"", "", "parquet", "text", "json"},  // which needs a file
      {"", "-", "parquet", "text", "json"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(Chosen(kDocument, c.flag, c.output, c.setting), c.document) << c.flag << " " << c.output << c.setting;
    EXPECT_EQ(Chosen(kTables, c.flag, c.output, c.setting), c.tables) << c.flag << " " << c.output << c.setting;
  }
}

TEST_F(OutputFormatTest, WhatWasAskedForHereAndCannotBeIsAnErrorThatSaysWhatCan) {
  for (const char* setting : {"", "json", "html"}) {
    EXPECT_EQ(Chosen(kDocument, "html", "a.json", setting), "plan: --format is text or json, not 'html'");
    EXPECT_EQ(Chosen(kTables, "pdf", "", setting), "plan: --format is json, csv or parquet, not 'pdf'");
    EXPECT_EQ(Chosen(kDocument, "", "a.csv", setting),
              "plan: -o a.csv: csv: unsupported format; this command writes text or json; change the extension, or use "
              "--format");
  }
  for (const char* setting : {"", "json"}) {
    EXPECT_EQ(Chosen(kDocument, "", "out.pdf", setting),
              "plan: -o out.pdf: unsupported extension; use .txt, .json, .log, or give --format");
    EXPECT_EQ(Chosen(kTables, "", "t.xlsx", setting),
              "plan: -o t.xlsx: unsupported extension; use .json, .csv, .parquet, .log, or give --format");
  }
  EXPECT_EQ(Chosen(kDocument, "text", "out.pdf", ""), "text");
  EXPECT_EQ(Chosen(kDocument, "text", "a.csv", ""), "text");
  EXPECT_EQ(Chosen(kDocument, "", "", "pdf"),
            path_.string() + ":2: output.format is text, json, html, csv, markdown, parquet or perfetto, not 'pdf'");
}

}  // namespace
}  // namespace idleburn
