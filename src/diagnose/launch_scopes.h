// Under which operator, module, annotation and line of Python each call of the host was made. So the time of a kernel
// can be given to the part of the program that launched it.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "profile/profile.h"

namespace idleburn {

// Chains of names from the outermost to the innermost: "Net > Encoder > Linear". 0 is the empty chain. Chains share
// their beginnings, so a chain takes one row.
class ScopePaths {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 16;
  static constexpr std::size_t kDeepest = 32;

  // The chain with `name` at its end. Beyond kMost chains or kDeepest names it is `parent` itself.
  std::uint32_t Under(std::uint32_t parent, const std::string& name);
  [[nodiscard]] std::string Text(std::uint32_t path) const;

 private:
  struct Row {
    std::uint32_t parent = 0;
    std::size_t depth = 0;
    std::string name;
  };
  std::vector<Row> rows_ = {{}};
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> known_;
};

// "Linear" for "nn.Module: Linear_12": all instances of a class count together.
std::string ModuleClass(std::string_view frame);
// "iteration #" for "iteration 12": ranges that differ only in numbers count together.
std::string WithoutNumbers(std::string_view range);

// The names around a call, of each kind the innermost. Indexed by ScopeKind: NameId of an operator or a line, path of a
// range or a module. 0: none.
using ScopesAround = std::array<std::uint32_t, kScopeKinds>;

// Finds them for all calls of a profile in one walk over each thread. Scopes of a thread are taken to be nested. Work
// of PyTorch's backward pass runs in threads without modules, so its module is "(backward pass)". Memory: 4 bytes a
// call. Refers to the profile.
class LaunchScopes {
 public:
  explicit LaunchScopes(const Profile& profile);

  // `call` is one of Profile::calls.
  [[nodiscard]] const ScopesAround& Of(const HostCall& call) const;
  // The name of what Of returned, for one of its kinds.
  [[nodiscard]] std::string Text(ScopeKind kind, std::uint32_t id) const;

 private:
  // The scopes around, once one more scope begins inside of them.
  ScopesAround Enter(const ScopesAround& outer, const NamedScope& scope);
  std::uint32_t Index(const ScopesAround& around);

  const Profile& profile_;
  ScopePaths paths_;
  std::map<std::pair<std::uint32_t, NameId>, std::uint32_t> entered_;  // path by outer path and raw name
  std::map<ScopesAround, std::uint32_t> known_;
  std::vector<ScopesAround> different_ = {{}};
  std::vector<std::uint32_t> by_call_;  // into different_; empty: no scopes at all
};

}  // namespace idleburn
