#include "os/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

#include "os/compression.h"

namespace idleburn {
namespace {

// The byte order mark that Windows programs put before UTF-8.
constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";

// An open file or standard input, which stays open.
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

// Opens the file as it is. Errors say what to do about the usual causes.
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

// Reads until there are `size` bytes or the input ends, because a pipe may deliver fewer at a time.
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

// Three layers, each only if the first bytes ask for it: decompression, UTF-16, the mark of UTF-8.
Result<std::unique_ptr<ByteSource>> OpenInput(const std::string& path, const WrapFile& wrap) {
  Result<std::unique_ptr<ByteSource>> file = OpenFile(path);
  if (!file) return file;
  if (wrap) *file = wrap(std::move(*file));
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

std::uint64_t SizeOfFiles(std::span<const std::string> paths) {
  std::uint64_t bytes = 0;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) return 0;
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    if (error) return 0;
    bytes += size;
  }
  return bytes;
}

// O_NONBLOCK keeps the open from waiting for the writer of a named pipe, which is then refused.
std::optional<SeekableFile> SeekableFile::Open(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  SeekableFile file(fd);
  struct stat info {};
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  file.size_ = static_cast<std::uint64_t>(info.st_size);
  return file;
}

SeekableFile::~SeekableFile() {
  if (fd_ >= 0) close(fd_);
}

std::string SeekableFile::alias() const { return "/proc/self/fd/" + std::to_string(fd_); }

std::string SeekableFile::Head(std::size_t size) const {
  std::string head(size, '\0');
  const ssize_t got = pread(fd_, head.data(), size, 0);
  head.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return head;
}

bool SeekableFile::ReadAt(std::uint64_t at, std::span<char> out) const {
  while (!out.empty()) {
    const ssize_t got = pread(fd_, out.data(), out.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    out = out.subspan(static_cast<std::size_t>(got));
    at += static_cast<std::uint64_t>(got);
  }
  return true;
}

namespace {

constexpr std::string_view kLittleMark = "\xFF\xFE";
constexpr std::string_view kBigMark = "\xFE\xFF";
constexpr char32_t kReplacement = 0xFFFD;

// Decodes as it reads. Before the mark, bytes are read as little-endian; the mark then tells.
class Utf16Source final : public ByteSource {
 public:
  explicit Utf16Source(std::unique_ptr<ByteSource> in) : in_(std::move(in)) {}

  Result<std::size_t> Read(std::span<char> out) override {
    while (taken_ == text_.size() && !done_) TRY(Fill());
    const std::size_t n = std::min(out.size(), text_.size() - taken_);
    std::memcpy(out.data(), text_.data() + taken_, n);
    taken_ += n;
    return n;
  }
  [[nodiscard]] bool truncated() const override { return in_->truncated(); }
  [[nodiscard]] const std::string& name() const override { return in_->name(); }

 private:
  // Decodes the next block. A character may be split between blocks, so its first byte or surrogate is kept.
  Result<void> Fill() {
    text_.clear();
    taken_ = 0;
    const std::size_t got = TRY(in_->Read(bytes_));
    done_ = got == 0;
    for (std::size_t i = 0; i < got; ++i) {
      const auto byte = static_cast<unsigned char>(bytes_[i]);
      if (!std::exchange(odd_, !odd_)) {
        first_ = byte;
      } else {
        Take(big_ ? static_cast<char16_t>(first_ << 8 | byte) : static_cast<char16_t>(byte << 8 | first_));
      }
    }
    if (done_ && (odd_ || high_ != 0)) AppendUtf8(text_, kReplacement);
    return {};
  }

  // Takes one unit of 16 bits: the mark, half of a surrogate pair, or a character.
  void Take(char16_t unit) {
    if (!std::exchange(marked_, true)) {
      big_ = unit == 0xFFFE;  // the mark, read the wrong way round
      return;
    }
    const bool low = unit >= 0xDC00 && unit <= 0xDFFF;
    if (const char16_t high = std::exchange(high_, char16_t{0}); high != 0) {
      if (low) return AppendUtf8(text_, 0x10000 + ((char32_t{high} - 0xD800) << 10) + (unit - 0xDC00));
      AppendUtf8(text_, kReplacement);
    }
    if (unit >= 0xD800 && unit <= 0xDBFF) {
      high_ = unit;
    } else {
      AppendUtf8(text_, low ? kReplacement : char32_t{unit});
    }
  }

  std::unique_ptr<ByteSource> in_;
  std::array<char, 16384> bytes_{};
  std::string text_;  // of bytes_
  std::size_t taken_ = 0;
  bool done_ = false;
  bool marked_ = false;  // the mark was read
  bool big_ = false;     // the first byte of two is the higher
  bool odd_ = false;     // first_ waits for its second byte
  unsigned char first_ = 0;
  char16_t high_ = 0;  // waits for its low surrogate
};

}  // namespace

bool SniffUtf16(std::string_view head) { return head.substr(0, 2) == kLittleMark || head.substr(0, 2) == kBigMark; }

std::unique_ptr<ByteSource> DecodeUtf16(std::unique_ptr<ByteSource> in) {
  return std::make_unique<Utf16Source>(std::move(in));
}

Result<void> SpareInputs(const std::string& output, const std::vector<std::string>& inputs) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(output, error)) return {};
  for (const std::string& input : inputs) {
    // By device and inode, so that another path or a link to the same file counts too.
    if (std::filesystem::equivalent(input, output, error)) {
      return Fail(output + ": is also an input; choose another file with -o");
    }
  }
  return {};
}

Result<void> CheckFolder(const std::string& output) {
  const std::filesystem::path folder = std::filesystem::path(output).parent_path();
  std::error_code error;
  if (folder.empty() || std::filesystem::is_directory(folder, error)) return {};
  return FailUsage("-o " + output + ": folder " + folder.string() + " does not exist; create it first");
}

}  // namespace idleburn
