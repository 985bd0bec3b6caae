#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace idleburn {

// What of its bound a fix gave back in the user's own changes that were judged: each from 0 to 1, a regression 0.
struct OwnChanges {
  std::vector<double> shares;
  int verified = 0;  // of them
};

// How much of its bound a fix recovers, as a mean.
struct RecoveredShare {
  double mean = 0;
  int own = 0;  // changes of the user's behind it; 0: the prior alone
  int verified = 0;
};

// The share of its bound that each fix is expected to recover. The prior is Beta(4,1) for every one
// (docs/combining.md). Once three changes of a lever were judged, the user's own speak too: the mean becomes (5 x 0.8 +
// sum of shares) / (5 + their count), the linear Bayes estimate in which the prior weighs as the 4 + 1 = 5 observations
// that Beta(4,1) stands for. Three, as a verdict itself asks for three runs a side: of one or two nobody can say
// whether they were the exception.
class RecoveredShares {
 public:
  static constexpr double kPriorMean = 0.8;
  static constexpr double kPriorWeight = 5;
  static constexpr std::size_t kFewestOwn = 3;

  RecoveredShares() = default;
  explicit RecoveredShares(std::map<std::string, OwnChanges, std::less<>> own) : own_(std::move(own)) {}

  [[nodiscard]] RecoveredShare Of(std::string_view lever) const;

 private:
  std::map<std::string, OwnChanges, std::less<>> own_;  // by lever
};

// "0.8 of it", "0.71 of it from 4 of your own verified changes, prior 0.80".
std::string Describe(const RecoveredShare& share);

// The shape a of Beta(a,1) with that mean: 4 of the prior. The spread of one fix from another stays that of the prior's
// family, however many changes told the mean.
double ShapeOf(const RecoveredShare& share);

}  // namespace idleburn
