#include "run/progress_words.h"

#include <algorithm>
#include <array>

#include "text/ascii.h"

namespace idleburn {
namespace {

// "evaluat": "evaluate", "evaluating", "evaluation".
constexpr std::array<std::string_view, 10> kEndings = {"", "s", "e", "es", "ed", "ing", "ings", "ion", "ions", "ation"};

bool IsFormOf(std::string_view word, std::string_view stem) {
  if (word.substr(0, stem.size()) != stem) return false;
  const std::string_view ending = word.substr(stem.size());
  const auto ends = [](std::string_view text) {
    return std::find(kEndings.begin(), kEndings.end(), text) != kEndings.end();
  };
  const bool doubled = ending.size() > 1 && ending.front() == stem.back();  // "mapping"
  return ends(ending) || (doubled && ends(ending.substr(1)));
}

constexpr std::array<std::string_view, 5> kTraining = {"train", "trainer", "pretrain", "retrain", "finetun"};
constexpr std::array<std::string_view, 9> kOtherWork = {"eval",   "evaluat", "valid", "validat", "test",
                                                        "warmup", "predict", "infer", "inferenc"};

}  // namespace

bool SpeaksOf(std::string_view lower, std::span<const std::string_view> stems) {
  for (std::size_t at = 0; at < lower.size();) {
    std::size_t end = at;
    while (end < lower.size() && IsLower(lower[end])) ++end;
    const std::string_view word = lower.substr(at, end - at);
    const auto is_form = [word](std::string_view stem) { return IsFormOf(word, stem); };
    if (!word.empty() && std::any_of(stems.begin(), stems.end(), is_form)) return true;
    at = end + 1;
  }
  return false;
}

bool SpeaksOfTraining(std::string_view lower) { return SpeaksOf(lower, kTraining); }
bool SpeaksOfOtherWork(std::string_view lower) { return SpeaksOf(lower, kOtherWork); }

}  // namespace idleburn
