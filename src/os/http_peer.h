#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace idleburn {

// A request to an HttpPeer.
struct HttpQuestion {
  bool put = false;  // PUT instead of GET
  std::string path;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string form = {};  // sent by POST as application/x-www-form-urlencoded; empty: none
};
// The response of an HttpPeer.
struct HttpAnswer {
  int status = 0;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

// In the error of an answer beyond HttpLimits::longest_answer.
inline constexpr std::string_view kAnswerTooLong = "the answer is too long";

// What an HttpPeer may do. The defaults fit a metadata service: a longer answer comes from something else.
struct HttpLimits {
  std::size_t longest_answer = std::size_t{64} * 1024;  // bytes
  bool tls = false;                                     // also https://
  std::string ca_file = {};                             // of the server's certificate; empty: those of the system
};

// A server that is asked over HTTP: the metadata service of a cloud machine (measure/cloud_metadata.h), or an engine of
// time series (fleet/engine.h). It uses no proxy and follows no redirects, because the service must answer itself.
// Connections are kept between questions.
class HttpPeer {
 public:
  // `base`: "http://169.254.169.254", with or without a port.
  static Result<std::unique_ptr<HttpPeer>> Open(const std::string& base, const HttpLimits& limits = {});
  ~HttpPeer();
  HttpPeer(const HttpPeer&) = delete;
  HttpPeer& operator=(const HttpPeer&) = delete;

  // Sends a request. Fails if the answer is not complete at `until`, or is longer than the limit. An answer with an
  // error status is an answer.
  Result<HttpAnswer> Ask(const HttpQuestion& question, std::chrono::steady_clock::time_point until);
  // Ends an Ask of another thread. A server that sends one byte at a time could otherwise hold it forever.
  void Stop();

 private:
  struct Client;
  explicit HttpPeer(std::unique_ptr<Client> client);
  std::unique_ptr<Client> client_;
};

}  // namespace idleburn
