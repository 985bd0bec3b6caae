#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace idleburn {

// The values of one record of a report, as text by path ("utilization/gpu_util"). Of a repeated path the first is
// kept. What a report does not say is absent, which is not the same as "N/A".
class Leaves {
 public:
  void Add(std::string path, std::string_view text) { texts_.try_emplace(std::move(path), text); }
  [[nodiscard]] std::optional<std::string_view> Find(std::string_view path) const {
    const auto found = texts_.find(path);
    return found == texts_.end() ? std::nullopt : std::optional<std::string_view>(found->second);
  }
  // As Find, with "" for absent: for texts in which nothing means nothing.
  [[nodiscard]] std::string_view Get(std::string_view path) const { return Find(path).value_or(std::string_view()); }
  [[nodiscard]] const std::map<std::string, std::string, std::less<>>& all() const { return texts_; }

 private:
  std::map<std::string, std::string, std::less<>> texts_;
};

}  // namespace idleburn
