#include "text/line_reader.h"

#include <algorithm>
#include <cstring>

namespace idleburn {
namespace {

// How much is read at once.
constexpr std::size_t kBlock = 1 << 18;

}  // namespace

LineReader::LineReader(ByteSource& in) : in_(in), buffer_(kBlock) {}

std::string LineReader::Where() const { return in_.name() + ":" + std::to_string(number_); }

tl::unexpected<Error> LineReader::TooLong() const {
  return Fail(in_.name() + ":" + std::to_string(number_ + 1) + ": line is longer than " + std::to_string(kMaxLine) +
              " bytes; this is not a log of the expected kind");
}

// Looks for a line end in what was read; where there is none, moves the rest to the front and reads more behind it.
// `scanned` keeps the search from starting over.
Result<bool> LineReader::Next(std::string_view* line) {
  std::size_t scanned = begin_;
  while (true) {
    const void* found = std::memchr(buffer_.data() + scanned, '\n', end_ - scanned);
    if (found != nullptr || (at_end_ && begin_ < end_)) {
      const char* start = buffer_.data() + begin_;
      const char* stop = found != nullptr ? static_cast<const char*>(found) : buffer_.data() + end_;
      auto length = static_cast<std::size_t>(stop - start);
      begin_ += length + (found != nullptr ? 1 : 0);
      terminated_ = found != nullptr;
      if (length > 0 && start[length - 1] == '\r') --length;
      if (length > kMaxLine) return TooLong();
      *line = std::string_view(start, length);
      ++number_;
      return true;
    }
    if (at_end_) return false;
    if (end_ - begin_ > kMaxLine + 1) return TooLong();  // 1: a \r whose \n has yet to come
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    scanned = end_;
    if (buffer_.size() - end_ < kBlock / 2) buffer_.resize(buffer_.size() * 2);
    const std::size_t got = TRY(in_.Read(std::span(buffer_).subspan(end_)));
    at_end_ = got == 0;
    end_ += got;
  }
}

StringSource::StringSource(std::string text, std::string name) : text_(std::move(text)), name_(std::move(name)) {}

Result<std::size_t> StringSource::Read(std::span<char> out) {
  const std::size_t n = std::min(out.size(), text_.size() - at_);
  std::memcpy(out.data(), text_.data() + at_, n);
  at_ += n;
  return n;
}

Result<std::string> ReadAll(ByteSource& in, std::size_t limit) {
  std::string text;
  std::vector<char> block(kBlock);
  while (true) {
    const std::size_t got = TRY(in.Read(block));
    if (got == 0) return text;
    if (text.size() + got > limit) {
      return Fail(in.name() + ": larger than " + std::to_string(limit >> 20) +
                  " MiB, the limit for this format; split it");
    }
    text.append(block.data(), got);
  }
}

}  // namespace idleburn
