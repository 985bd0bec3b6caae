#pragma once

#include <string>
#include <utility>

#include "text/line_reader.h"

namespace idleburn::testing {

// Compressed text whose end was lost: what is left of it is `text`.
class CutSource final : public ByteSource {
 public:
  explicit CutSource(std::string text) : left_(std::move(text)) {}
  Result<std::size_t> Read(std::span<char> out) override {
    const Result<std::size_t> got = left_.Read(out);
    ended_ = *got == 0;
    return got;
  }
  [[nodiscard]] bool truncated() const override { return ended_; }
  [[nodiscard]] const std::string& name() const override { return left_.name(); }

 private:
  StringSource left_;
  bool ended_ = false;
};

}  // namespace idleburn::testing
