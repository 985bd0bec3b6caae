// Any bytes are an index of git or are refused; no more files come of it than were asked for, nor than the bytes hold.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "measure/system_facts.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMost = 1000;
  constexpr std::size_t kLeastEntry = 64;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::vector<idleburn::StagedFile> files;
  const bool read = idleburn::ReadGitIndex(bytes, kMost, &files);
  CHECK(files.size() <= kMost && files.size() <= size / kLeastEntry);
  for (const idleburn::StagedFile& file : files) {
    CHECK(!file.path.empty() && file.path.find('\0') == std::string::npos);
    CHECK(bytes.find(file.path) != std::string_view::npos);
  }
  // What has been cut off is seen.
  if (read && !files.empty()) {
    std::vector<idleburn::StagedFile> fewer;
    CHECK(!idleburn::ReadGitIndex(bytes.substr(0, kLeastEntry), kMost, &fewer));
  }
  return 0;
}
