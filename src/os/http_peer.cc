#include "os/http_peer.h"

#include <httplib.h>

namespace idleburn {
namespace {

// An answer of a metadata service is a few words or a small document. A longer one comes from something else.
constexpr std::size_t kLongestAnswer = 64 * 1024;

}  // namespace

struct HttpPeer::Client {
  explicit Client(const std::string& base) : http(base) {}
  httplib::Client http;
};

HttpPeer::HttpPeer(std::unique_ptr<Client> client) : client_(std::move(client)) {}
HttpPeer::~HttpPeer() = default;

Result<std::unique_ptr<HttpPeer>> HttpPeer::Open(const std::string& base) {
  if (!base.starts_with("http://")) return Fail(base + ": the address must begin with http://");
  try {
    auto client = std::make_unique<Client>(base);
    if (!client->http.is_valid()) return Fail(base + ": not a server address");
    client->http.set_keep_alive(true);
    client->http.set_follow_location(false);
    return std::unique_ptr<HttpPeer>(new HttpPeer(std::move(client)));
  } catch (const std::exception& error) {
    return Fail(base + ": " + error.what());
  }
}

// The timeouts of the library start anew with every read, so the deadline is checked with every piece as well.
Result<HttpAnswer> HttpPeer::Ask(const HttpQuestion& question, std::chrono::steady_clock::time_point until) {
  const auto left = std::chrono::duration_cast<std::chrono::microseconds>(until - std::chrono::steady_clock::now());
  if (left.count() <= 0) return Fail(question.path + ": no time left for the request");
  httplib::Client& http = client_->http;
  http.set_connection_timeout(left);
  http.set_read_timeout(left);
  http.set_write_timeout(left);
  httplib::Request request;
  request.method = question.put ? "PUT" : "GET";
  request.path = question.path;
  for (const auto& [name, value] : question.headers) request.headers.emplace(name, value);
  HttpAnswer answer;
  // Called with every piece of the body. Returning false ends the request.
  request.content_receiver = [&](const char* data, std::size_t size, std::uint64_t, std::uint64_t) {
    answer.body.append(data, size);
    return answer.body.size() <= kLongestAnswer && std::chrono::steady_clock::now() < until;
  };
  try {
    const httplib::Result result = http.send(request);
    if (!result) return Fail(question.path + ": " + httplib::to_string(result.error()));
    answer.status = result->status;
    for (const auto& [name, value] : result->headers) answer.headers.emplace_back(name, value);
    return answer;
  } catch (const std::exception& error) {
    return Fail(question.path + ": " + error.what());
  }
}

void HttpPeer::Stop() { client_->http.stop(); }

}  // namespace idleburn
