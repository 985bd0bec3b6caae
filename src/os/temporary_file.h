#pragma once

#include <cstdio>
#include <string>

#include "base/byte_source.h"
#include "base/result.h"

namespace idleburn {

// The folder for temporary files: $TMPDIR, or else /tmp. Sorting a large log may need gigabytes there.
std::string TemporaryFolder();
// Opens an unlinked file for reading and writing in that folder; the caller closes it. nullptr if the folder is not
// writable (errno tells why). std::tmpfile ignores TMPDIR, so it does not serve.
std::FILE* OpenTemporaryFile();

// A stream copied to a temporary file, for a library that opens its input by path: SQLite reads a compressed profile
// that way. The path disappears with this object. The bytes stay until every reader has closed the file.
class SpooledFile {
 public:
  // Copies the rest of `in`. An error names the input and TMPDIR.
  static Result<SpooledFile> Of(ByteSource& in);
  ~SpooledFile();
  SpooledFile(SpooledFile&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  SpooledFile& operator=(SpooledFile&&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit SpooledFile(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// A temporary folder that is deleted with its content at the end. `drill --scratch` lets a command write there.
class ScratchFolder {
 public:
  // Starts as a copy of the folder `copy_of`, or empty if that is empty.
  static Result<ScratchFolder> Make(const std::string& copy_of);
  ~ScratchFolder();
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace idleburn
