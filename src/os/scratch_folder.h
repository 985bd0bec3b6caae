#pragma once

#include <string>

#include "base/result.h"

namespace idleburn {

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
