#include "os/http_peer.h"

#include <httplib.h>

namespace idleburn {

struct HttpPeer::Client {
  Client(const std::string& base, const HttpLimits& limits) : http(base), longest(limits.longest_answer) {
    if (!limits.ca_file.empty()) http.set_ca_cert_path(limits.ca_file);
  }
  httplib::Client http;
  std::size_t longest;
};

HttpPeer::HttpPeer(std::unique_ptr<Client> client) : client_(std::move(client)) {}
HttpPeer::~HttpPeer() = default;

Result<std::unique_ptr<HttpPeer>> HttpPeer::Open(const std::string& base, const HttpLimits& limits) {
  if (!base.starts_with("http://") && !(limits.tls && base.starts_with("https://"))) {
    return Fail(base + ": the address must begin with http://" + (limits.tls ? " or https://" : ""));
  }
  try {
    auto client = std::make_unique<Client>(base, limits);
    if (!client->http.is_valid()) return Fail(base + ": not a server address");
    client->http.set_keep_alive(true);
    // Head and body of a form are two packets. Without this the second waits 40 ms for the answer to the first.
    client->http.set_tcp_nodelay(true);
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
  request.method = question.put ? "PUT" : question.form.empty() ? "GET" : "POST";
  request.path = question.path;
  for (const auto& [name, value] : question.headers) request.headers.emplace(name, value);
  if (!question.form.empty()) {
    request.headers.emplace("Content-Type", "application/x-www-form-urlencoded");
    request.body = question.form;
  }
  HttpAnswer answer;
  // Called with every piece of the body. Returning false ends the request.
  request.content_receiver = [&](const char* data, std::size_t size, std::uint64_t, std::uint64_t) {
    answer.body.append(data, size);
    return answer.body.size() <= client_->longest && std::chrono::steady_clock::now() < until;
  };
  try {
    const httplib::Result result = http.send(request);
    if (answer.body.size() > client_->longest) return Fail(question.path + ": " + std::string(kAnswerTooLong));
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
