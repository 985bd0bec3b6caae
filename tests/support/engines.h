// Engines of time series for tests: the real programs, each on a free port of this machine, with a folder of its own.

#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "support/program.h"
#include "support/service.h"

namespace idleburn::testing {

// What a relay between a program and its engine does wrong.
struct RelayFaults {
  int last = 0;  // it ends after so many questions, as an engine that dies; 0: never
  // It refuses what asks for more seconds: from start to end of a range, or in the brackets of an expression.
  std::int64_t longest_range = std::numeric_limits<std::int32_t>::max();
  std::int64_t longest_window = std::numeric_limits<std::int32_t>::max();
  bool silent = false;  // it does not answer what asks for seconds in brackets
  // It refuses every part of this time, Unix seconds. Equal: of none.
  std::int64_t never_from = 0;
  std::int64_t never_to = 0;
  std::string never = {};  // it refuses expressions that match this, a regular expression
  int most_nodes = 0;      // it refuses expressions of live counters of GPUs for more nodes than this; 0: none
  // It answers everything with this, and never asks the engine.
  int status = 200;
  std::optional<std::string> body = {};
};

// Servers that end with this object. All are named by their URL, "http://127.0.0.1:41234". A server that does not start
// fails the test and shows its log.
class TestEngines {
 public:
  // Starts a VictoriaMetrics that shows samples at once and keeps old ones. `more`: further flags.
  std::string Victoria(const std::string& more = "");
  // Loads a file of its import format, one JSON object a line. What is loaded can be queried.
  static void Load(const std::string& victoria, const std::string& file);
  // Loads lines of Prometheus' text format, each with its time in milliseconds. `label` is set on each, "replica=a".
  static void LoadText(const std::string& victoria, const std::string& text, const std::string& label = "");
  // Starts a VictoriaMetrics with such a file of JSON objects.
  std::string VictoriaWith(const std::string& file);
  // Deletes all series, so that the engine can be used again. It still lists the names of their metrics.
  static void Forget(const std::string& victoria);

  // Starts a Prometheus with the samples of an OpenMetrics file, or one that scrapes as this configuration file says.
  std::string PrometheusWith(const std::string& openmetrics);
  std::string PrometheusScraping(const std::string& config);

  // Starts a relay. `upstream` may be empty if the faults have a body. Its log has the expressions that it was asked.
  std::string Relay(const std::string& upstream, const RelayFaults& faults);

  // Starts any server. `words` of the shell hold {port} and may hold {folder}. It is ready when it listens at the port
  // and answers the path `ready` with 200; an empty path is not asked for.
  std::string Start(const std::string& words, const std::string& ready);
  // Ends a server as a power cut does, and starts it again at the same port with its folder.
  void Kill(const std::string& url);
  void Signal(const std::string& url, int signal);
  void Restart(const std::string& url);
  // Ends all.
  void Clear() { servers_.clear(); }
  [[nodiscard]] std::string Log(const std::string& url) const;

 private:
  struct Server {
    std::string words;
    std::string ready;
    std::string log;
    std::unique_ptr<Service> service;
  };
  static void Run(const std::string& url, Server& server);

  TempFolder folder_;
  std::map<std::string, Server> servers_;  // by URL
  int started_ = 0;
};

}  // namespace idleburn::testing
