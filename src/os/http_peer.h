#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace idleburn {

struct HttpQuestion {
  bool put = false;  // else a GET
  std::string path;
  std::vector<std::pair<std::string, std::string>> headers;
};
struct HttpAnswer {
  int status = 0;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

// A server that is asked over plain HTTP, without any proxy and without following where it leads elsewhere.
class HttpPeer {
 public:
  // `base`: "http://169.254.169.254", with or without a port.
  static Result<std::unique_ptr<HttpPeer>> Open(const std::string& base);
  ~HttpPeer();
  HttpPeer(const HttpPeer&) = delete;
  HttpPeer& operator=(const HttpPeer&) = delete;

  // Fails if there is no whole answer at `until`, or one of more than 64 kB.
  Result<HttpAnswer> Ask(const HttpQuestion& question, std::chrono::steady_clock::time_point until);
  // Ends an Ask that is under way in another thread: one that sends its answer drop by drop would take for ever.
  void Stop();

 private:
  struct Client;
  explicit HttpPeer(std::unique_ptr<Client> client);
  std::unique_ptr<Client> client_;
};

}  // namespace idleburn
