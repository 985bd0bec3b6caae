#pragma once

#include <span>
#include <string_view>

namespace idleburn {

// Whether a word of `lower`, text in lower case, is a form of one of the stems: "testing" and "tests" are forms of
// "test"; "latest", "contest" and "tester" are not. A word is of letters only: "train_loss" holds two.
bool SpeaksOf(std::string_view lower, std::span<const std::string_view> stems);

// Of work that is a training's own.
bool SpeaksOfTraining(std::string_view lower);
// Of work beside it, on the same model: a validation, a test.
bool SpeaksOfOtherWork(std::string_view lower);

}  // namespace idleburn
