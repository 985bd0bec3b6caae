#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace idleburn {

// The environment of a process holds secrets, such as WANDB_API_KEY. So idleburn reads the values of listed keys only
// and keeps nothing else of it. It sees the environment as it was at exec: what a program sets later is invisible.

// At most so many bytes of an environment are read, and so many of a value are kept.
inline constexpr std::size_t kMostEnviron = 128 * 1024;
inline constexpr std::size_t kMostEnvironValue = 256;

using EnvironValues = std::map<std::string, std::string, std::less<>>;

// Which keys are read, and which of them name the experiment.
class EnvironKeys {
 public:
  // The built-in list. `experiment_keys` come before its own keys of experiments, in their order. Fails on a key that
  // is no name of a variable, or that looks like a secret: it contains key, token, secret, passw, cred, auth, cookie
  // or dsn in any case.
  static Result<EnvironKeys> Make(const std::vector<std::string>& experiment_keys);
  // The built-in list alone.
  EnvironKeys();

  // The values of listed keys in the text of /proc/PID/environ. Control characters are replaced.
  [[nodiscard]] EnvironValues ValuesIn(std::string_view environ) const;
  // The experiment that these values name; empty if none does.
  [[nodiscard]] std::string ExperimentOf(const EnvironValues& values) const;
  // The run that they name, with its kind: "torchrun:RUN", "ray:01000000"; empty if none does.
  [[nodiscard]] static std::string RunOf(const EnvironValues& values);

 private:
  std::vector<std::string> experiments_;
  std::vector<std::string> read_;  // sorted
};

}  // namespace idleburn
