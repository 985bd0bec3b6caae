// Series for tests of engines: made in memory, loaded in the import format of VictoriaMetrics or as OpenMetrics.

#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace idleburn::testing {

// Samples of many series, every `step` seconds of a time range.
class MadeSeries {
 public:
  MadeSeries(std::int64_t from, std::int64_t to, std::int64_t step) : from_(from), to_(to), step_(step) {}

  // Adds a series. `labels` is a JSON object of texts without the name; `value` is called for each moment, Unix
  // seconds. Samples end before `until`, if that is given.
  void Add(const std::string& name, nlohmann::json labels, const std::function<double(std::int64_t)>& value,
           std::int64_t until = 0) {
    labels["__name__"] = name;
    nlohmann::json values = nlohmann::json::array();
    nlohmann::json stamps = nlohmann::json::array();
    for (std::int64_t at = from_; at < (until > 0 ? until : to_); at += step_) {
      values.push_back(value(at));
      stamps.push_back(at * 1000);
    }
    lines_.push_back({{"metric", std::move(labels)}, {"values", values}, {"timestamps", stamps}});
  }
  // Adds all series once more, with other labels.
  void AddAgain(const std::function<void(nlohmann::json*)>& relabel) {
    const std::vector<nlohmann::json> before = lines_;
    for (nlohmann::json line : before) {
      relabel(&line["metric"]);
      lines_.push_back(std::move(line));
    }
  }
  void Relabel(const std::function<void(nlohmann::json*)>& relabel) {
    for (nlohmann::json& line : lines_) relabel(&line["metric"]);
  }

  // For VictoriaMetrics, one JSON object a line.
  [[nodiscard]] std::string ImportLines() const {
    std::string text;
    for (const nlohmann::json& line : lines_) text += line.dump() + "\n";
    return text;
  }
  // For promtool.
  [[nodiscard]] std::string OpenMetrics() const {
    std::string text;
    for (const nlohmann::json& line : lines_) {
      std::string labels;
      for (const auto& [name, value] : line["metric"].items()) {
        if (name != "__name__") labels += (labels.empty() ? "" : ",") + name + "=" + Escaped(value.get<std::string>());
      }
      const std::string series = line["metric"]["__name__"].get<std::string>() + "{" + labels + "} ";
      for (std::size_t i = 0; i < line["values"].size(); ++i) {
        const auto second = line["timestamps"][i].get<std::int64_t>() / 1000;
        text += series + line["values"][i].dump() + " " + std::to_string(second) + "\n";
      }
    }
    return text + "# EOF\n";
  }

 private:
  static std::string Escaped(const std::string& value) {
    std::string text = "\"";
    for (const char c : value) {
      if (c == '"' || c == '\\') text += '\\';
      if (c == '\n') {
        text += "\\n";
      } else {
        text += c;
      }
    }
    return text + "\"";
  }

  std::int64_t from_;
  std::int64_t to_;
  std::int64_t step_;
  std::vector<nlohmann::json> lines_;
};

}  // namespace idleburn::testing
