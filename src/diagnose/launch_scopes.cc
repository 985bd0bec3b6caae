#include "diagnose/launch_scopes.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "text/strings.h"

namespace idleburn {

std::uint32_t ScopePaths::Under(std::uint32_t parent, const std::string& name) {
  const auto key = std::pair(parent, name);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  if (rows_.size() >= kMost || rows_[parent].depth >= kDeepest) return parent;
  const auto path = static_cast<std::uint32_t>(rows_.size());
  rows_.push_back({parent, rows_[parent].depth + 1, name});
  known_.emplace(key, path);
  return path;
}

std::string ScopePaths::Text(std::uint32_t path) const {
  std::string text;
  for (; path != 0; path = rows_[path].parent) {
    text = text.empty() ? rows_[path].name : rows_[path].name + " > " + text;
  }
  return text;
}

std::string ModuleClass(std::string_view frame) {
  constexpr std::string_view kPrefix = "nn.Module: ";
  if (frame.starts_with(kPrefix)) frame.remove_prefix(kPrefix.size());
  const std::size_t last = frame.find_last_not_of("0123456789");
  const bool numbered = last != std::string_view::npos && last + 1 < frame.size() && last > 0 && frame[last] == '_';
  return std::string(numbered ? frame.substr(0, last) : frame);
}

std::string WithoutNumbers(std::string_view range) {
  std::string text;
  for (const char c : range) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) {
      text += c;
    } else if (text.empty() || text.back() != '#') {
      text += '#';
    }
  }
  return text;
}

namespace {

constexpr std::string_view kBackward = "autograd::engine::evaluate_function";
constexpr std::string_view kBackwardPath = "(backward pass)";

std::uint32_t& At(ScopesAround& around, ScopeKind kind) { return around[static_cast<std::size_t>(kind)]; }

// Indices of rows by thread and start. Of scopes that start together, the longest comes first: it is the outer one.
template <typename Rows, typename Longer>
std::vector<std::uint32_t> ByThread(const Rows& rows, Longer longer) {
  std::vector<std::uint32_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (rows[a].thread != rows[b].thread) return rows[a].thread < rows[b].thread;
    if (rows[a].start_ns != rows[b].start_ns) return rows[a].start_ns < rows[b].start_ns;
    return longer(rows[a], rows[b]) || (!longer(rows[b], rows[a]) && a < b);
  });
  return order;
}

}  // namespace

ScopesAround LaunchScopes::Enter(const ScopesAround& outer, const NamedScope& scope) {
  ScopesAround around = outer;
  const auto kind = static_cast<ScopeKind>(scope.kind);
  const std::string& name = profile_.names[scope.name];
  std::uint32_t& module = At(around, ScopeKind::kModule);
  if (kind == ScopeKind::kOperator && module == 0 && name.starts_with(kBackward)) {
    module = paths_.Under(0, std::string(kBackwardPath));
  }
  std::uint32_t& own = At(around, kind);
  if (kind == ScopeKind::kOperator || kind == ScopeKind::kPython) {
    own = scope.name;
    return around;
  }
  const auto [path, is_new] = entered_.try_emplace({own, scope.name}, 0);
  if (is_new) path->second = paths_.Under(own, kind == ScopeKind::kModule ? ModuleClass(name) : WithoutNumbers(name));
  own = path->second;
  return around;
}

std::uint32_t LaunchScopes::Index(const ScopesAround& around) {
  const auto [at, is_new] = known_.try_emplace(around, static_cast<std::uint32_t>(different_.size()));
  if (is_new) different_.push_back(around);
  return at->second;
}

LaunchScopes::LaunchScopes(const Profile& profile) : profile_(profile) {
  if (profile.scopes.empty()) return;
  struct Open {
    std::int64_t end_ns;
    ScopesAround around;
  };
  known_.emplace(ScopesAround{}, 0);
  by_call_.resize(profile.calls.size());
  const std::vector<std::uint32_t> scopes =
      ByThread(profile.scopes, [](const NamedScope& a, const NamedScope& b) { return a.end_ns > b.end_ns; });
  const std::vector<std::uint32_t> calls =
      ByThread(profile.calls, [](const HostCall& /*a*/, const HostCall& /*b*/) { return false; });
  std::vector<Open> open;
  std::uint32_t thread = 0;
  const auto leave = [&open](std::int64_t t) {
    while (!open.empty() && open.back().end_ns <= t) open.pop_back();
    return open.empty() ? ScopesAround{} : open.back().around;
  };
  auto scope = scopes.begin();
  for (const std::uint32_t c : calls) {
    const HostCall& call = profile.calls[c];
    if (call.thread != thread) open.clear();
    thread = call.thread;
    for (; scope != scopes.end(); ++scope) {
      const NamedScope& next = profile.scopes[*scope];
      if (next.thread > thread || (next.thread == thread && next.start_ns > call.start_ns)) break;
      if (next.thread < thread || next.end_ns <= call.start_ns) continue;
      open.push_back({next.end_ns, Enter(leave(next.start_ns), next)});
    }
    by_call_[c] = Index(leave(call.start_ns));
  }
  entered_.clear();
  known_.clear();
}

const ScopesAround& LaunchScopes::Of(const HostCall& call) const {
  if (by_call_.empty()) return different_.front();
  return different_[by_call_[static_cast<std::size_t>(&call - profile_.calls.data())]];
}

std::string LaunchScopes::Text(ScopeKind kind, std::uint32_t id) const {
  const bool name = kind == ScopeKind::kOperator || kind == ScopeKind::kPython;
  return name ? profile_.names[id] : paths_.Text(id);
}

}  // namespace idleburn
