#include "support/scripted_engine.h"

#include <httplib.h>

#include <thread>
#include <utility>

#include "text/number.h"

namespace idleburn::testing {

struct ScriptedEngine::Server {
  Answer answer;
  httplib::Server http;
  int port = 0;
  std::thread thread;
};

ScriptedEngine::ScriptedEngine(Answer answer) : server_(std::make_unique<Server>()) {
  server_->answer = std::move(answer);
  const auto reply = [this](const httplib::Request& request, httplib::Response& response) {
    const auto seconds = [&](const char* name) { return ParseInteger(request.get_param_value(name)).value_or(0); };
    const ScriptedQuestion question{request.get_param_value("query"), seconds("time"), seconds("start"),
                                    seconds("end")};
    const std::string series = question.expression == "vector(1)" ? "[]" : server_->answer(question);
    const std::string type = question.end != 0 ? "matrix" : "vector";
    response.set_content(R"({"status":"success","data":{"resultType":")" + type + R"(","result":)" + series + "}}",
                         "application/json");
  };
  server_->http.set_keep_alive_timeout(1);  // its end waits so long for connections
  server_->http.Post("/api/v1/query", reply);
  server_->http.Post("/api/v1/query_range", reply);
  server_->port = server_->http.bind_to_any_port("127.0.0.1");
  server_->thread = std::thread([this] { server_->http.listen_after_bind(); });
  while (!server_->http.is_running()) std::this_thread::yield();
}

ScriptedEngine::~ScriptedEngine() {
  server_->http.stop();
  server_->thread.join();
}

Engine ScriptedEngine::Open() const {
  EngineAddress address;
  address.url = "http://127.0.0.1:" + std::to_string(server_->port);
  return Engine::Open(address).value();
}

}  // namespace idleburn::testing
