#include "support/read_inputs.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "audit/classify_run.h"
#include "places.h"

namespace idleburn::testing {

std::filesystem::path Shared() { return std::filesystem::path(IDLEBURN_ROOT) / ".." / "shared"; }

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::shared_ptr<RunInputs> MustRead(const std::vector<std::string>& paths, const Thresholds& thresholds,
                                    const ImportOptions& options) {
  Result<std::shared_ptr<RunInputs>> inputs = Read(paths, options, thresholds);
  const Result<void> classified = inputs ? ClassifyRun(**inputs) : tl::unexpected<Error>(inputs.error());
  if (classified) return *std::move(inputs);
  ADD_FAILURE() << classified.error().message;
  static const Thresholds kUsual;
  return std::make_shared<RunInputs>(kUsual);
}

}  // namespace idleburn::testing
