#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace idleburn::testing {

// A program that runs in the background until the test stops it: an agent, a Prometheus. Its output goes to a file.
class Service {
 public:
  // Starts `words` by the shell with exec, in a session of its own. `log` is the file for both outputs.
  Service(const std::string& words, std::string log);
  // Stops it with SIGKILL if it still runs.
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  void Signal(int signal) const;
  // Waits for its end, at most 20 s. Its exit code, 128 + n after signal n, -1 if it goes on.
  int Wait();
  // Whether it still runs.
  [[nodiscard]] bool Runs();
  [[nodiscard]] std::string Log() const;
  [[nodiscard]] pid_t pid() const { return pid_; }
  // Whether the process, and nobody else, listens at that port of this machine.
  [[nodiscard]] bool ListensAt(int port) const;

 private:
  pid_t pid_ = -1;
  int end_ = -1;  // as wait() tells it
  bool ended_ = false;
  std::string log_;
};

// A port of 127.0.0.1 that is free now.
int FreePort();

// Calls `holds` until it is true, at most that long. Whether it was.
bool Eventually(std::chrono::milliseconds limit, const std::function<bool()>& holds);

// What an HTTP server answered.
struct HttpReply {
  int status = 0;  // 0: no answer
  std::string body;
  std::map<std::string, std::string> headers;
};
// How to ask.
struct HttpRequest {
  std::string url;  // "http://127.0.0.1:9835/metrics"
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string method = "GET";
  std::string body = {};         // to send
  std::string ca_file = {};      // of an https server
  std::string client_cert = {};  // and its key
  std::string client_key = {};
  bool unpack = true;  // gunzip the answer
};
HttpReply Ask(const HttpRequest& request);

// The samples of Prometheus' text format by series, in millionths. Comments are left out.
std::map<std::string, long long> SamplesOf(const std::string& text);

}  // namespace idleburn::testing
