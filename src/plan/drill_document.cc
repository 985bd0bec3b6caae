#include <cmath>
#include <nlohmann/json.hpp>

#include "plan/spot_facts.h"

namespace idleburn {
namespace {

// A number of seconds, or null; anything else sets `bad`.
std::optional<double> Seconds(const nlohmann::json& document, const char* key, std::string& bad) {
  const auto found = document.find(key);
  if (found == document.end() || found->is_null()) return std::nullopt;
  const double value = found->is_number() ? found->get<double>() : -1;
  if (std::isfinite(value) && value >= 0) return value;
  bad = key;
  return std::nullopt;
}

}  // namespace

Result<MeasuredRestart> ParseDrillDocument(const std::string& text, const std::string& name) {
  const nlohmann::json document = nlohmann::json::parse(text, nullptr, false);
  if (!document.is_object() || !document.contains("schema") || document["schema"] != "idleburn.drill/1") {
    return Fail(name + ": is no idleburn.drill/1 document; write one with idleburn drill --format json");
  }
  std::string bad;
  MeasuredRestart measured;
  measured.checkpoint_s = Seconds(document, "checkpoint_s", bad);
  measured.interval_s = Seconds(document, "checkpoint_interval_s", bad);
  measured.restart_s = Seconds(document, "restart_s", bad);
  measured.lost_s = Seconds(document, "lost_s", bad);
  if (!bad.empty()) return Fail(name + ": " + bad + " is no number of seconds from 0 on");
  return measured;
}

}  // namespace idleburn
