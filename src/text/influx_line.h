#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace idleburn {

// One line of InfluxDB's line protocol: "measurement,tag=value field=12i,other=1.5 1783117320000000000".
struct InfluxLine {
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  std::string measurement;
  Pairs tags;              // escapes resolved
  Pairs fields;            // numbers without their type's letter; texts without quotes, escapes resolved
  std::string_view stamp;  // as written, empty without one
};

// False if that is no such line. `*line` is written over.
bool ParseInfluxLine(std::string_view text, InfluxLine* line);

}  // namespace idleburn
