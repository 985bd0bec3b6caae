#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace idleburn {

// A request to an HttpPeer.
struct HttpQuestion {
  bool put = false;  // PUT instead of GET
  std::string path;
  std::vector<std::pair<std::string, std::string>> headers;
};
// The response of an HttpPeer.
struct HttpAnswer {
  int status = 0;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

// A server that is asked over plain HTTP: the metadata service of a cloud machine (measure/cloud_metadata.h). It uses
// no proxy and follows no redirects, because the service must answer itself. Connections are kept between questions.
class HttpPeer {
 public:
  // `base`: "http://169.254.169.254", with or without a port.
  static Result<std::unique_ptr<HttpPeer>> Open(const std::string& base);
  ~HttpPeer();
  HttpPeer(const HttpPeer&) = delete;
  HttpPeer& operator=(const HttpPeer&) = delete;

  // Sends a request. Fails if the answer is not complete at `until`, or is longer than 64 kB. An answer with an error
  // status is an answer.
  Result<HttpAnswer> Ask(const HttpQuestion& question, std::chrono::steady_clock::time_point until);
  // Ends an Ask of another thread. A server that sends one byte at a time could otherwise hold it forever.
  void Stop();

 private:
  struct Client;
  explicit HttpPeer(std::unique_ptr<Client> client);
  std::unique_ptr<Client> client_;
};

}  // namespace idleburn
