#include <toml++/toml.h>

#include <sstream>

#include "plan/plan_files.h"

namespace idleburn {
namespace {

// A scalar, or an array of them joined by commas, as text; empty for a table or a date.
std::string TextOf(const toml::node& node) {
  if (const auto text = node.value<std::string>(); text && node.is_string()) return *text;
  if (node.is_boolean()) return node.value_or(false) ? "yes" : "no";
  if (node.is_integer()) return std::to_string(node.value_or(std::int64_t{0}));
  if (node.is_floating_point()) {
    std::ostringstream out;
    out.precision(15);
    out << node.value_or(0.0);
    return out.str();
  }
  std::string list;
  if (const toml::array* array = node.as_array()) {
    for (const toml::node& item : *array) {
      if (!item.is_array()) list += (list.empty() ? "" : ",") + TextOf(item);
    }
  }
  return list;
}

}  // namespace

Result<PlanFile> ReadPlanToml(std::string_view text, const std::string& name) {
  PlanFile file;
  try {
    const toml::table table = toml::parse(text);
    for (const auto& [key, node] : table) {
      const std::string word = TextOf(node);
      if (word.empty()) {
        return FailUsage(name + ": " + std::string(key.str().substr(0, 40)) + " is no text, number, switch or list");
      }
      file.words[std::string(key.str())] = word;
    }
  } catch (const toml::parse_error& error) {
    if (text.starts_with('{')) {
      return Fail(name +
                  ": is JSON, perhaps a trace (idleburn audit reads traces); a plan is TOML, a training YAML or a " +
                  "model's config.json");
    }
    return Fail(name + ":" + std::to_string(error.source().begin.line) + ": " + std::string(error.description()));
  }
  return file;
}

}  // namespace idleburn
