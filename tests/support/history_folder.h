#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "history/open_history.h"

namespace idleburn::test {

// A folder of a test's own with a history in it; both go with this.
class HistoryFolder {
 public:
  HistoryFolder() : path_(::testing::TempDir() + "history.XXXXXX") {
    EXPECT_NE(mkdtemp(path_.data()), nullptr);
    options_.now = Instant::FromNanos(1'763'755'200 * kNanosPerSecond);  // 2025-11-21T20:00:00Z
    options_.patience = Nanos(kNanosPerSecond / 20);
    options_.tell = [this](const std::string& line) { told_.push_back(line); };
  }
  ~HistoryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  HistoryFolder(const HistoryFolder&) = delete;
  HistoryFolder& operator=(const HistoryFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file() const { return path_ + "/history.sqlite"; }
  [[nodiscard]] const HistoryOptions& options() const { return options_; }
  [[nodiscard]] const std::vector<std::string>& told() const { return told_; }

  void Make() const { [[maybe_unused]] const SqliteDatabase made = Open(); }
  [[nodiscard]] SqliteDatabase Open() const {
    Result<SqliteDatabase> opened = OpenHistory(file(), options_);
    EXPECT_TRUE(opened) << opened.error().message;
    return std::move(*opened);
  }

 private:
  std::string path_;
  HistoryOptions options_;
  std::vector<std::string> told_;
};

}  // namespace idleburn::test
