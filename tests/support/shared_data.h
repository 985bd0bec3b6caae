#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "places.h"

namespace idleburn::test {

// Real captures lie beside the checkout, not in it: their licences differ.
inline std::filesystem::path SharedPath(const std::string& relative) {
  return std::filesystem::path(IDLEBURN_ROOT) / ".." / "shared" / relative;
}

// The content of a shared file; absent if it is not there, in which case the test skips and names it.
inline std::optional<std::string> ReadShared(const std::string& relative) {
  std::ifstream in(SharedPath(relative), std::ios::binary);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

}  // namespace idleburn::test
