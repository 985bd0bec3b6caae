#include "os/temporary_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

namespace idleburn {

namespace {

// A new file and its path.
struct Created {
  std::FILE* file;  // nullptr if it could not be made
  std::string path;
};

// Creates a file with a unique name. O_CLOEXEC keeps it from programs that are started meanwhile.
Created CreateTemporaryFile() {
  std::string path = TemporaryFolder() + "/idleburn.XXXXXX";
  const int fd = mkostemp(path.data(), O_CLOEXEC);
  if (fd < 0) return {nullptr, path};
  std::FILE* file = fdopen(fd, "w+b");
  if (file == nullptr) {
    close(fd);
    unlink(path.c_str());
  }
  return {file, path};
}

// Copies the rest of `in`. A disk without room is the user's to solve, so the error names TMPDIR.
Result<void> Copy(ByteSource& in, std::FILE* out) {
  std::vector<char> block(std::size_t{1} << 20);
  while (true) {
    const std::size_t got = TRY(in.Read(block));
    if (got == 0) return {};
    if (std::fwrite(block.data(), 1, got, out) != got) {
      return Fail(in.name() + ": no room to unpack it: " + std::strerror(errno) + "; name another folder in TMPDIR");
    }
  }
}

}  // namespace

std::string TemporaryFolder() {
  const char* folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

// Unlinked at once, so that the file is gone however the process ends.
std::FILE* OpenTemporaryFile() {
  const Created created = CreateTemporaryFile();
  if (created.file != nullptr) unlink(created.path.c_str());
  return created.file;
}

// fclose writes the rest, so it may be what finds the disk full.
Result<SpooledFile> SpooledFile::Of(ByteSource& in) {
  const Created created = CreateTemporaryFile();
  if (created.file == nullptr) {
    return Fail(in.name() + ": cannot be unpacked to " + created.path + ": " + std::strerror(errno) +
                "; name another folder in TMPDIR");
  }
  SpooledFile spooled(created.path);
  Result<void> copied = Copy(in, created.file);
  if (std::fclose(created.file) != 0 && copied) {
    copied = Fail(in.name() + ": no room to unpack it: " + std::strerror(errno) + "; name another folder in TMPDIR");
  }
  TRY(copied);
  return spooled;
}

SpooledFile::~SpooledFile() {
  if (!path_.empty()) unlink(path_.c_str());
}

Result<ScratchFolder> ScratchFolder::Make(const std::string& copy_of) {
  std::error_code failed;
  if (!copy_of.empty() && !std::filesystem::is_directory(copy_of, failed)) return Fail(copy_of + ": is no folder");
  std::string path = TemporaryFolder() + "/idleburn-scratch.XXXXXX";
  if (mkdtemp(path.data()) == nullptr) {
    return Fail(path + ": cannot be made: " + std::strerror(errno) + "; set TMPDIR to a folder that can be written");
  }
  ScratchFolder scratch(std::move(path));
  if (copy_of.empty()) return scratch;
  // Links are copied as links, so that nothing outside the folder is copied.
  const auto options = std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks;
  std::filesystem::copy(copy_of, scratch.path(), options, failed);
  if (failed) return Fail(copy_of + ": cannot be copied to " + scratch.path() + ": " + failed.message());
  return scratch;
}

ScratchFolder::~ScratchFolder() {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace idleburn
