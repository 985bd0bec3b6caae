// The client of the tests. Alone, because its library's header is heavy and needs the macros that it was built with.
#include <httplib.h>

#include "support/service.h"

namespace idleburn::testing {

HttpReply Ask(const HttpRequest& request) {
  const std::size_t host = request.url.find("//") + 2;
  const std::size_t path = request.url.find('/', host);
  const std::string base = request.url.substr(0, path);
  httplib::Client client = request.client_cert.empty() ? httplib::Client(base)
                                                       : httplib::Client(base, request.client_cert, request.client_key);
  client.set_connection_timeout(5);
  client.set_read_timeout(10);
  client.set_decompress(request.unpack);
  if (!request.ca_file.empty()) client.set_ca_cert_path(request.ca_file.c_str());
  httplib::Request question;
  question.method = request.method;
  question.path = path == std::string::npos ? "/" : request.url.substr(path);
  question.body = request.body;
  for (const auto& [name, value] : request.headers) question.headers.emplace(name, value);
  HttpReply reply;
  const httplib::Result result = client.send(question);
  if (!result) return reply;
  reply.status = result->status;
  reply.body = result->body;
  for (const auto& [name, value] : result->headers) reply.headers[name] = value;
  return reply;
}

}  // namespace idleburn::testing
