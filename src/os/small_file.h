#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace idleburn {

// A file of the kernel's that is read again and again: kept open, read from its start each time.
class SmallFile {
 public:
  explicit SmallFile(const std::string& path);
  ~SmallFile();
  SmallFile(SmallFile&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  SmallFile& operator=(SmallFile&& other) noexcept;
  SmallFile(const SmallFile&) = delete;
  SmallFile& operator=(const SmallFile&) = delete;

  [[nodiscard]] bool open() const { return fd_ >= 0; }
  // Up to 4 kB of it without the white space at its end; empty if it cannot be read.
  [[nodiscard]] std::string Read() const;

 private:
  int fd_;
};

// Names in a folder, in order; none if it cannot be listed.
std::vector<std::string> NamesIn(const std::string& folder);

}  // namespace idleburn
