#include "os/utf16_source.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "os/utf8.h"

namespace idleburn {
namespace {

constexpr std::string_view kLittleMark = "\xFF\xFE";
constexpr std::string_view kBigMark = "\xFE\xFF";
constexpr char32_t kReplacement = 0xFFFD;

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

}  // namespace idleburn
