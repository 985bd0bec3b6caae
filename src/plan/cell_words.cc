#include "plan/cell_words.h"

#include <algorithm>
#include <array>

#include "plan/column_names.h"
#include "text/number.h"

namespace idleburn {
namespace {

// As programs and people write what they do not know.
constexpr auto kBlank = std::to_array<std::string_view>(
    {"", "nan", "null", "na", "<na>", "#n/a", "-", "?", "unknown", "not stated", "not given", "unspecified", "nil"});
constexpr auto kNone = std::to_array<std::string_view>({"none", "n/a"});
// Of these "none" is an answer.
constexpr auto kMayBeOff = std::to_array<std::string_view>(
    {"quantization", "act_ckpt", "sharding", "method", "tp", "pp", "cp", "ep", "vp", "attention"});

constexpr auto kYes = std::to_array<std::string_view>({"1", "1.0", "true", "t", "yes", "y", "on", "full", "enabled"});
constexpr auto kNo =
    std::to_array<std::string_view>({"0", "0.0", "false", "f", "no", "n", "off", "none", "n/a", "disabled"});

template <typename Words>
bool IsOneOf(const Words& words, std::string_view text) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return EqualsIgnoreCase(word, text); });
}

bool MayBeOff(std::string_view column) {
  const auto names = SynonymsOf(column);
  return IsOneOf(kMayBeOff, names.empty() ? column : names.front());
}

}  // namespace

bool IsBlankCell(std::string_view column, std::string_view text) {
  text = Trim(text);
  return IsOneOf(kBlank, text) || (IsOneOf(kNone, text) && !MayBeOff(column));
}

bool IsOffWord(std::string_view text) { return IsOneOf(kNo, Trim(text)); }

std::optional<bool> SwitchWord(std::string_view text) {
  if (IsOneOf(kYes, Trim(text))) return true;
  if (IsOffWord(text)) return false;
  return std::nullopt;
}

}  // namespace idleburn
