#include "os/small_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

namespace idleburn {

SmallFile::SmallFile(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}

SmallFile::~SmallFile() {
  if (fd_ >= 0) close(fd_);
}

SmallFile& SmallFile::operator=(SmallFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

std::string SmallFile::Read() const {
  std::array<char, 4096> text{};
  const ssize_t length = fd_ < 0 ? 0 : pread(fd_, text.data(), text.size(), 0);
  std::string_view read(text.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  const std::size_t last = read.find_last_not_of(" \t\n");
  return std::string(read.substr(0, last == std::string_view::npos ? 0 : last + 1));
}

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace idleburn
