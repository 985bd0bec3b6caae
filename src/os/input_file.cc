#include "os/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "os/inflate.h"
#include "os/utf16_source.h"

namespace idleburn {
namespace {

constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";

class FileSource final : public ByteSource {
 public:
  FileSource(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}
  ~FileSource() override {
    if (fd_ != STDIN_FILENO) close(fd_);
  }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  Result<std::size_t> Read(std::span<char> out) override {
    while (true) {
      const ssize_t n = read(fd_, out.data(), out.size());
      if (n >= 0) return static_cast<std::size_t>(n);
      if (errno != EINTR) return Fail(name_ + ": cannot be read: " + std::strerror(errno));
    }
  }
  [[nodiscard]] bool truncated() const override { return false; }
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  int fd_;
  std::string name_;
};

Result<std::unique_ptr<ByteSource>> OpenFile(const std::string& path) {
  if (path == "-") return std::make_unique<FileSource>(STDIN_FILENO, "standard input");
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    const char* advice = errno == ENOENT ? "; check the path" : errno == EACCES ? "; ask its owner or copy it" : "";
    return Fail(path + ": cannot be opened: " + std::strerror(errno) + advice);
  }
  auto source = std::make_unique<FileSource>(fd, path);
  struct stat info {};
  if (fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) {
    return Fail(path + ": is a directory; name the files in it, for example " + path + "/*.csv");
  }
  return source;
}

}  // namespace

PeekSource::PeekSource(std::unique_ptr<ByteSource> in) : in_(std::move(in)) {}

Result<std::string_view> PeekSource::Peek(std::size_t size) {
  while (head_.size() < size) {
    const std::size_t had = head_.size();
    head_.resize(size);
    const Result<std::size_t> got = in_->Read(std::span(head_).subspan(had));
    head_.resize(had + got.value_or(0));
    if (!got) return tl::unexpected<Error>(got.error());
    if (*got == 0) break;
  }
  return std::string_view(head_).substr(0, size);
}

Result<std::size_t> PeekSource::Read(std::span<char> out) {
  if (taken_ == head_.size()) return in_->Read(out);
  const std::size_t n = std::min(out.size(), head_.size() - taken_);
  std::memcpy(out.data(), head_.data() + taken_, n);
  taken_ += n;
  return n;
}

Result<std::unique_ptr<ByteSource>> OpenInput(const std::string& path) {
  Result<std::unique_ptr<ByteSource>> file = OpenFile(path);
  if (!file) return file;
  auto peek = std::make_unique<PeekSource>(std::move(*file));
  const std::string_view head = TRY(peek->Peek(8));
  if (head.empty()) return Fail(peek->name() + ": is empty; nothing was recorded, or the copy failed");
  const std::optional<Compression> compression = SniffCompression(head);
  if (compression) peek = std::make_unique<PeekSource>(Inflate(std::move(peek), *compression));
  std::array<char, 3> mark{};
  const std::string_view begin = TRY(peek->Peek(mark.size()));
  if (SniffUtf16(begin)) return DecodeUtf16(std::move(peek));
  if (begin == kUtf8Mark) TRY(peek->Read(mark));
  return peek;
}

}  // namespace idleburn
