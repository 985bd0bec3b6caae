#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace idleburn {

// Small files of /proc and /sys, read once or again and again. A sampler may read hundreds of them ten times a
// second, so a system call per reading matters.

// Why a file of the kernel could not be read.
enum class ReadFault : std::uint8_t {
  kNone,
  kMissing,  // there is no such file, or its process has ended
  kDenied,   // no permission, or the kernel feature is switched off
};

// How many files may stay open at once, shared by their readers. First come, first served. Closing the least recently
// read file would fail here: files that are read in turn would close each other all the time. Not for several
// threads.
struct OpenFileBudget {
  std::size_t most = 0;
  std::size_t open = 0;
};

// A small file of /proc or /sys/fs/cgroup that is read again and again. While the budget allows it stays open, and a
// reading costs one system call instead of three. Otherwise each reading opens it.
class KeptFile {
 public:
  KeptFile() = default;
  // `budget` must outlive the file. Null: each reading opens the file.
  KeptFile(std::string path, OpenFileBudget* budget) : path_(std::move(path)), budget_(budget) {}
  ~KeptFile() { Close(); }
  KeptFile(KeptFile&& other) noexcept;
  KeptFile& operator=(KeptFile&& other) noexcept;

  // Reads the whole file into `buffer` and returns a view of it. If absent, fault() tells why.
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

// Removes the white space at the end of a file's text.
std::string_view WithoutEnd(std::string_view text);
// The text of a small file without the white space at its end. Empty if it cannot be read.
std::string FileText(const std::string& path);

}  // namespace idleburn
