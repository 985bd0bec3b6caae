#pragma once

#include <cstdio>
#include <string>

#include "base/byte_source.h"
#include "base/result.h"

namespace idleburn {

// The folder of temporary files: $TMPDIR, or else /tmp.
std::string TemporaryFolder();
// An unlinked file for reading and writing in that folder; the caller closes it. nullptr if the folder
// cannot be written (errno says why). std::tmpfile would not look at TMPDIR.
std::FILE* OpenTemporaryFile();

// What a stream delivers as a file, for a library that opens its input by path; in the folder of temporary files. Its
// path goes with this object, its bytes when all that opened it have closed it.
class SpooledFile {
 public:
  static Result<SpooledFile> Of(ByteSource& in);
  ~SpooledFile();
  SpooledFile(SpooledFile&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  SpooledFile& operator=(SpooledFile&&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit SpooledFile(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// A folder of our own in the folder for temporary files, removed with all it holds at the end.
class ScratchFolder {
 public:
  // `copy_of`: the folder it begins as a copy of; empty: it begins empty.
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
