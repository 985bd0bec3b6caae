#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "profile/profile_names.h"

namespace idleburn {

// What a range of a host thread says of the work that is launched in it.
enum class ScopeKind : std::uint8_t {
  kOperator,  // "aten::addmm"
  kRange,     // an annotation or an NVTX range: "forward"
  kModule,    // "nn.Module: Linear_3"
  kPython     // a line of Python outside of PyTorch and the standard library: "train.py(12): step"
};
inline constexpr std::size_t kScopeKinds = 4;

// A range of a host thread. The innermost one around a launch call names the launched work (diagnose/launch_scopes.h).
struct NamedScope {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  NameId name = kNoName;
  std::uint32_t thread : 30 = 0;  // index into Profile::threads
  std::uint32_t kind : 2 = 0;     // a ScopeKind

  friend bool operator==(const NamedScope&, const NamedScope&) = default;
};
static_assert(sizeof(NamedScope) == 24);

// The limits of what one file may take: 96 MiB of scopes, and names of at most some 20 MiB. Scopes beyond a limit are
// counted (Profile::scopes_left_out), and work under them has a coarser name or none.
inline constexpr std::size_t kKeptScopes = std::size_t{1} << 22;
inline constexpr std::size_t kScopeNames = std::size_t{1} << 16;
inline constexpr std::size_t kLongestScopeName = 160;

// The kind of a Python frame. Absent for frames that say nothing about the user's program: built-in functions, PyTorch
// and the standard library. They are most of a trace with stacks.
std::optional<ScopeKind> ScopeOfFrame(std::string_view frame);

// The kind of an NVTX range. PyTorch names its operators "aten::addmm"; all other ranges are annotations.
ScopeKind ScopeOfNvtx(std::string_view range);

}  // namespace idleburn
