#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "audit/read_run.h"

namespace idleburn::testing {

// The folder of real captures beside the project; tests that need it are skipped by name where it is missing.
std::filesystem::path Shared();
std::string ReadText(const std::filesystem::path& path);

// Reads inputs and classifies them with defaults; the test fails with the error's line otherwise.
std::shared_ptr<RunInputs> MustRead(const std::vector<std::string>& paths, const Thresholds& thresholds = {},
                                    const ImportOptions& options = {});

}  // namespace idleburn::testing

// Skips the test where `path` is missing, naming it.
#define REQUIRE_SHARED(path) \
  if (!std::filesystem::exists(path)) GTEST_SKIP() << (path).string() << " is missing"
