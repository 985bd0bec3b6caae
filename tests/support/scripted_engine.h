#pragma once

#include <httplib.h>

#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "fleet/engine.h"

namespace idleburn::testing {

// An engine of time series in this process, for unit tests of questions: what is asked at which moment, and what
// another pull does meanwhile. `answer` gets an expression and the path, and returns the JSON array of the series.
class ScriptedEngine {
 public:
  using Answer = std::function<std::string(const std::string& expression, const httplib::Request& request)>;

  explicit ScriptedEngine(Answer answer) : answer_(std::move(answer)) {
    const auto reply = [this](const httplib::Request& request, httplib::Response& response) {
      const std::string type = request.path == "/api/v1/query_range" ? "matrix" : "vector";
      const std::string expression = request.get_param_value("query");
      const std::string series = expression == "vector(1)" ? "[]" : answer_(expression, request);
      response.set_content(R"({"status":"success","data":{"resultType":")" + type + R"(","result":)" + series + "}}",
                           "application/json");
    };
    server_.Post("/api/v1/query", reply);
    server_.Post("/api/v1/query_range", reply);
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();
  }
  ~ScriptedEngine() {
    server_.stop();
    thread_.join();
  }
  ScriptedEngine(const ScriptedEngine&) = delete;
  ScriptedEngine& operator=(const ScriptedEngine&) = delete;

  [[nodiscard]] Engine Open() const {
    EngineAddress address;
    address.url = "http://127.0.0.1:" + std::to_string(port_);
    return Engine::Open(address).value();
  }

 private:
  Answer answer_;
  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
};

}  // namespace idleburn::testing
