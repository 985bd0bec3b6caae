#include "run/output_reader.h"

namespace idleburn {
namespace {

constexpr std::size_t kLongestLine = 300;

}  // namespace

void OutputReader::OnOutput(int stream, std::string_view bytes) {
  progress.OnOutput(stream, bytes);
  const std::scoped_lock lock(mutex_);
  for (const char c : bytes) {
    if (c == '\n' || c == '\r') {
      if (!line_.empty()) last_ = line_;
      line_.clear();
    } else if (line_.size() < kLongestLine) {
      line_ += c;
    }
  }
}

std::string OutputReader::LastLine() const {
  const std::scoped_lock lock(mutex_);
  return line_.empty() ? last_ : line_;
}

}  // namespace idleburn
