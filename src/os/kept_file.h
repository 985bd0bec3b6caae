#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace idleburn {

// How reading a file of the kernel ended.
enum class ReadFault : std::uint8_t {
  kNone,
  kMissing,  // there is no such file, or the process it spoke of has ended
  kDenied,   // it may not be read, or what it tells is switched off
};

// How many files may stay open at once, over all that share it. Who comes first keeps his files open: many files
// read in turns would close each other all the time if the longest unread had to go.
struct OpenFileBudget {
  std::size_t most = 0;
  std::size_t open = 0;
};

// A small file of /proc or /sys/fs/cgroup that is read again and again. It stays open between readings while the
// budget allows (a reading then costs one system call instead of three), and is opened for each reading if not.
class KeptFile {
 public:
  KeptFile() = default;
  // `budget` outlives it; null: opened for each reading.
  KeptFile(std::string path, OpenFileBudget* budget) : path_(std::move(path)), budget_(budget) {}
  ~KeptFile() { Close(); }
  KeptFile(KeptFile&& other) noexcept;
  KeptFile& operator=(KeptFile&& other) noexcept;

  // The whole file into `buffer`; what it returns lies there. Absent: fault() says why.
  std::optional<std::string_view> Read(std::string& buffer);
  [[nodiscard]] ReadFault fault() const { return fault_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  void Close();
  bool Fetch(int fd, std::string& buffer, std::size_t* size);

  std::string path_;
  OpenFileBudget* budget_ = nullptr;
  int fd_ = -1;
  ReadFault fault_ = ReadFault::kNone;
};

// Without the white space that such files end with.
std::string_view WithoutEnd(std::string_view text);
// A small file, read once, without that end; empty if it cannot be read.
std::string FileText(const std::string& path);

}  // namespace idleburn
