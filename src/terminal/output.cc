#include "terminal/output.h"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "os/output_file.h"
#include "text/figures.h"
#include "text/strings.h"

// Output of the program. A write that fails is an error for the report, which the user asked for, and is ignored for
// messages: there is no other place to report it.

namespace idleburn {
void Say(std::string_view line) { std::fprintf(stderr, "idleburn: %s\n", Printable(line).c_str()); }

Result<void> Print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    return Fail(std::string("standard output cannot be written: ") + std::strerror(errno));
  }
  return {};
}

void PrintAside(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

Result<void> WriteOutput(const std::string& path, std::string_view text) {
  return path.empty() || path == "-" ? Print(text) : WriteFileWhole(path, text);
}

namespace {

using Clock = std::chrono::steady_clock;

// Passes everything through to the source, and draws the line between two reads, so it needs no thread. A source that
// stalls therefore shows a line that stands still.
class ProgressSource final : public ByteSource {
 public:
  ProgressSource(std::unique_ptr<ByteSource> in, std::uintmax_t size) : in_(std::move(in)), size_(size) {}
  ~ProgressSource() override {
    if (shown_) std::fputs("\r\x1b[K", stderr);
  }
  ProgressSource(const ProgressSource&) = delete;
  ProgressSource& operator=(const ProgressSource&) = delete;

  Result<std::size_t> Read(std::span<char> out) override {
    const Result<std::size_t> got = in_->Read(out);
    read_ += got.value_or(0);
    const Clock::time_point now = Clock::now();
    if (now >= next_) Show(now);
    return got;
  }
  [[nodiscard]] bool truncated() const override { return in_->truncated(); }
  [[nodiscard]] const std::string& name() const override { return in_->name(); }

 private:
  // Draws the line over the one before: "\r" returns to its start, and the escape sequence clears it.
  void Show(Clock::time_point now) {
    const double seconds = std::chrono::duration<double>(now - start_).count();
    const double rate = static_cast<double>(read_) / seconds;
    std::string line = fmt::format("\r\x1b[K{}: {} read, {}/s", Printable(in_->name()),
                                   DecimalBytes(static_cast<double>(read_)), DecimalBytes(rate));
    if (size_ >= read_ && rate > 0)
      line += ", " + SecondsForPeople(static_cast<double>(size_ - read_) / rate) + " left";
    std::fputs(line.c_str(), stderr);
    shown_ = true;
    next_ = now + std::chrono::milliseconds(500);
  }

  std::unique_ptr<ByteSource> in_;
  std::uintmax_t size_;
  std::uintmax_t read_ = 0;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_ = start_ + std::chrono::seconds(1);
  bool shown_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> WithProgress(std::unique_ptr<ByteSource> in, std::uintmax_t size) {
  return std::make_unique<ProgressSource>(std::move(in), size);
}

}  // namespace idleburn
