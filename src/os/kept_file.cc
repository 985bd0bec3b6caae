#include "os/kept_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace idleburn {
namespace {

// Sizes of the buffer at first, of a piece that is certainly the last, and of the most that is read.
constexpr std::size_t kFirstSize = 4096;
constexpr ssize_t kCertainEnd = 2048;
constexpr std::size_t kMostSize = 4 * 1024 * 1024;  // more than any file that is meant

// What an errno means. ESRCH and ENODEV come from files of a process that ended or a device that is gone.
ReadFault ReadFaultOf(int error) {
  return error == ENOENT || error == ESRCH || error == ENOTDIR || error == ENODEV ? ReadFault::kMissing
                                                                                  : ReadFault::kDenied;
}

}  // namespace

KeptFile::KeptFile(KeptFile&& other) noexcept { *this = std::move(other); }

// The open file keeps its place in the budget.
KeptFile& KeptFile::operator=(KeptFile&& other) noexcept {
  Close();
  path_ = std::move(other.path_);
  budget_ = other.budget_;
  fault_ = other.fault_;
  fd_ = std::exchange(other.fd_, -1);
  return *this;
}

void KeptFile::Close() {
  if (fd_ < 0) return;
  close(fd_);
  fd_ = -1;
  --budget_->open;
}

// Reads the whole file from its start and grows the buffer as needed.
bool KeptFile::Fetch(int fd, std::string& buffer, std::size_t* size) {
  if (buffer.size() < kFirstSize) buffer.resize(kFirstSize);
  *size = 0;
  while (true) {
    const ssize_t n = pread(fd, buffer.data() + *size, buffer.size() - *size, static_cast<off_t>(*size));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      fault_ = ReadFaultOf(errno);
      return false;
    }
    *size += static_cast<std::size_t>(n);
    // The kernel delivers long files in pieces of about a page. A much shorter piece is the last.
    if (n < kCertainEnd || *size >= kMostSize) return true;
    if (buffer.size() - *size < kFirstSize) buffer.resize(buffer.size() * 2);
  }
}

// A file that fails is closed, so that the next reading opens it anew: its process or device may have come back.
std::optional<std::string_view> KeptFile::Read(std::string& buffer) {
  fault_ = ReadFault::kNone;
  const int fd = fd_ >= 0 ? fd_ : open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    fault_ = ReadFaultOf(errno);
    return std::nullopt;
  }
  std::size_t size = 0;
  const bool fetched = Fetch(fd, buffer, &size);
  if (fd_ < 0) {
    if (fetched && budget_ != nullptr && budget_->open < budget_->most) {
      fd_ = fd;
      ++budget_->open;
    } else {
      close(fd);
    }
  }
  if (!fetched) {
    Close();
    return std::nullopt;
  }
  return std::string_view(buffer).substr(0, size);
}

std::string_view WithoutEnd(std::string_view text) {
  const std::size_t last = text.find_last_not_of(" \t\n");
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

std::string FileText(const std::string& path) {
  std::string buffer;
  return std::string(WithoutEnd(KeptFile(path, nullptr).Read(buffer).value_or(std::string_view())));
}

}  // namespace idleburn
