#include "profile/named_scope.h"

#include <algorithm>
#include <array>

namespace idleburn {
namespace {

constexpr std::string_view kModulePrefix = "nn.Module: ";

// How frames begin that are not the user's: PyTorch writes paths relative to the folder of packages, so the standard
// library has none. A script of such a name would be left out too, and its work then counts to its caller.
constexpr auto kForeignFrames = std::to_array<std::string_view>(
    {"torch/", "threading.py(", "contextlib.py(", "functools.py(", "runpy.py(", "inspect.py(", "enum.py(", "typing.py(",
     "abc.py(", "copy.py(", "queue.py(", "collections/", "importlib/", "multiprocessing/", "concurrent/", "asyncio/",
     "selectors.py(", "<frozen "});

// Parts of absolute paths to the same.
constexpr auto kForeignFolders =
    std::to_array<std::string_view>({"/torch/", "/lib/python3", "/multiprocessing/", "/asyncio/"});

// Packages below /lib/python3 are the user's choice, unlike the library itself.
constexpr std::string_view kPackages = "-packages/";

}  // namespace

std::optional<ScopeKind> ScopeOfFrame(std::string_view frame) {
  if (frame.empty() || frame.front() == '<') return std::nullopt;
  if (frame.starts_with(kModulePrefix)) return ScopeKind::kModule;
  if (frame.find(".py(") == std::string_view::npos) return std::nullopt;
  const std::size_t packages = frame.find(kPackages);
  if (packages != std::string_view::npos) frame.remove_prefix(packages + kPackages.size());
  const auto begins = [&](std::string_view with) { return frame.starts_with(with); };
  if (std::any_of(kForeignFrames.begin(), kForeignFrames.end(), begins)) return std::nullopt;
  const auto has = [&](std::string_view part) { return frame.find(part) != std::string_view::npos; };
  if (frame.front() == '/' && std::any_of(kForeignFolders.begin(), kForeignFolders.end(), has)) return std::nullopt;
  return ScopeKind::kPython;
}

ScopeKind ScopeOfNvtx(std::string_view range) {
  const std::size_t colons = range.find("::");
  const bool name = colons != std::string_view::npos && colons > 0 && range.find(' ') == std::string_view::npos;
  return name ? ScopeKind::kOperator : ScopeKind::kRange;
}

}  // namespace idleburn
