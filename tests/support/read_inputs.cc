#include "support/read_inputs.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "places.h"

namespace idleburn::testing {

std::filesystem::path Shared() { return std::filesystem::path(IDLEBURN_ROOT) / ".." / "shared"; }

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::unique_ptr<RunInputs> MustRead(const std::vector<std::string>& paths, const Thresholds& thresholds,
                                    const ImportOptions& options) {
  auto inputs = ReadRun(paths, options, thresholds, [](std::string_view name) {
    BoardFacts facts;
    if (name.find("H100") != std::string_view::npos) facts = {700'000, 1'980'000};
    return facts;
  });
  if (!inputs) {
    ADD_FAILURE() << inputs.error().message;
    return std::make_unique<RunInputs>();
  }
  return std::move(*inputs);
}

}  // namespace idleburn::testing
