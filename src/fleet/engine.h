#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "import/json_input.h"

// An engine of time series that speaks Prometheus' HTTP API: Prometheus, VictoriaMetrics, Thanos, Mimir.
namespace idleburn {

// Where the engine is, and how to be let in.
struct EngineAddress {
  std::string url;                        // "http://prometheus:9090/prefix", or with "user:password@"
  std::string token_file;                 // its content is the bearer token; empty: none
  std::string ca_file;                    // of an https server; empty: the system's
  Nanos patience{120 * kNanosPerSecond};  // for one answer
};

// What the engine says that it is. The URL is without user and password.
struct EngineFacts {
  std::string kind;     // "prometheus", "victoriametrics", "unknown"
  std::string version;  // "2.42.0"; empty: not told
  std::string url;
};

// One series of an answer. Labels are sorted by name. Values are integer thousandths: an agent's seconds as
// milliseconds.
struct EngineSeries {
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<std::pair<std::int64_t, std::int64_t>> points;  // Unix seconds, value x 1000

  // The value of a label, or "" without one.
  [[nodiscard]] std::string_view Label(std::string_view name) const;
};

// An answer as it came, for readers of Prometheus' JSON (import/prometheus.cc), and its `data`. The latter is valid
// until the next question.
struct EngineAnswer {
  std::string body;
  JsonNode data;
};

// Why a question was not answered. Too much: the engine refused or ran out of time, so a smaller question may succeed.
struct EngineTrouble {
  bool too_much = false;
  bool late = false;  // it ran out of time
  Error error;
};

// A range question of several.
struct RangeQuestion {
  std::string expression;
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::int64_t step = 0;
};

// A connection. Questions are sent one after the other, but for EachRange.
class Engine {
 public:
  // Checks that something at the address answers as an engine does. The error says what was found instead: nothing,
  // a refusal (401), a page of HTML.
  static Result<Engine> Open(const EngineAddress& address);
  ~Engine();
  Engine(Engine&& other) noexcept;
  Engine& operator=(Engine&&) = delete;

  [[nodiscard]] const EngineFacts& facts() const { return facts_; }

  // Evaluates an expression at one moment, or at each step from `start` to `end` (Unix seconds). Values that are no
  // number are left out. `*trouble` says why if it fails; it may be null.
  Result<std::vector<EngineSeries>> At(const std::string& expression, std::int64_t time,
                                       EngineTrouble* trouble = nullptr);
  Result<std::vector<EngineSeries>> Range(const std::string& expression, std::int64_t start, std::int64_t end,
                                          std::int64_t step, EngineTrouble* trouble = nullptr);
  // Asks several range questions. While one answer is read, the engine works on the next two questions. `take` gets
  // the number of the question and each of its series, which is valid during the call.
  using TakeSeries = std::function<void(std::size_t question, const EngineSeries& series)>;
  Result<void> EachRange(const std::vector<RangeQuestion>& questions, EngineTrouble* trouble, const TakeSeries& take);
  // The body of the answer as it came, for readers of Prometheus' JSON (import/prometheus.cc).
  Result<std::string> RangeText(const std::string& expression, std::int64_t start, std::int64_t end, std::int64_t step,
                                EngineTrouble* trouble = nullptr);
  // The samples as they were scraped, of the series that a selector names, from `start` up to but without `end`: what
  // `METRIC[1h]` returns. `*trouble` says why if it fails.
  Result<EngineAnswer> Samples(const std::string& selector, std::int64_t start, std::int64_t end,
                               EngineTrouble* trouble);
  // The engine's clock, Unix seconds. Without its half minute of caution: VictoriaMetrics hides the newest samples.
  Result<std::int64_t> Now();
  // Ends a question of another thread.
  void Stop();
  // Names of the metrics that match a regular expression.
  Result<std::vector<std::string>> MetricNames(const std::string& pattern, std::int64_t start, std::int64_t end);

 private:
  struct Peer;
  explicit Engine(std::unique_ptr<Peer> peer);
  std::unique_ptr<Peer> peer_;
  EngineFacts facts_;
};

}  // namespace idleburn
