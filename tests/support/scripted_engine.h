#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "fleet/engine.h"

namespace idleburn::testing {

// What a reader asks: at one moment, or from start to end (Unix seconds). What is not asked is 0.
struct ScriptedQuestion {
  std::string expression;
  std::int64_t time = 0;
  std::int64_t start = 0;
  std::int64_t end = 0;
};

// An engine of time series in this process, for unit tests of short questions (its server takes forms of 8 KiB): what
// is asked, and what another pull does meanwhile. `answer` returns the JSON array of the series; it runs in a thread of
// its own.
class ScriptedEngine {
 public:
  using Answer = std::function<std::string(const ScriptedQuestion&)>;

  explicit ScriptedEngine(Answer answer);
  ~ScriptedEngine();
  ScriptedEngine(const ScriptedEngine&) = delete;
  ScriptedEngine& operator=(const ScriptedEngine&) = delete;

  [[nodiscard]] Engine Open() const;

 private:
  struct Server;
  std::unique_ptr<Server> server_;
};

}  // namespace idleburn::testing
