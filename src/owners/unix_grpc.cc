#include "owners/unix_grpc.h"

#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "os/held_signals.h"
#include "text/figures.h"
#include "text/strings.h"

// gRPC over HTTP/2: a POST with "content-type: application/grpc". A message has five bytes in front: whether it is
// compressed, and its length in network order. The status stands in the trailers, or in the headers if there is no
// message.

namespace idleburn {
namespace {

constexpr std::size_t kPrefixBytes = 5;

struct SessionDeleter {
  void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
};
struct CallbacksDeleter {
  void operator()(nghttp2_session_callbacks* callbacks) const { nghttp2_session_callbacks_del(callbacks); }
};

// One call: what is left to send, and what came.
struct UnaryCall {
  std::string request;
  std::size_t sent = 0;
  std::string answer;
  std::size_t most = 0;
  std::string http_status;
  std::string grpc_status;
  std::string grpc_message;
  bool closed = false;
  bool too_long = false;
};

struct SocketFd {
  int fd = -1;
  ~SocketFd() {
    if (fd >= 0) close(fd);
  }
};

ssize_t ReadRequest(nghttp2_session* /*session*/, std::int32_t /*stream*/, std::uint8_t* to, std::size_t room,
                    std::uint32_t* flags, nghttp2_data_source* source, void* /*user*/) {
  auto* call = static_cast<UnaryCall*>(source->ptr);
  const std::size_t size = std::min(room, call->request.size() - call->sent);
  std::memcpy(to, call->request.data() + call->sent, size);
  call->sent += size;
  if (call->sent == call->request.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
  return static_cast<ssize_t>(size);
}

int OnGrpcHeader(nghttp2_session* /*session*/, const nghttp2_frame* /*frame*/, const std::uint8_t* name,
                 std::size_t name_size, const std::uint8_t* value, std::size_t value_size, std::uint8_t /*flags*/,
                 void* user) {
  constexpr std::size_t kMostValue = 1024;
  auto* call = static_cast<UnaryCall*>(user);
  const std::string_view key(reinterpret_cast<const char*>(name), name_size);
  const std::string text(reinterpret_cast<const char*>(value), std::min(value_size, kMostValue));
  if (key == ":status") call->http_status = text;
  if (key == "grpc-status") call->grpc_status = text;
  if (key == "grpc-message") call->grpc_message = text;
  return 0;
}

int OnGrpcData(nghttp2_session* /*session*/, std::uint8_t /*flags*/, std::int32_t /*stream*/, const std::uint8_t* data,
               std::size_t size, void* user) {
  auto* call = static_cast<UnaryCall*>(user);
  if (call->answer.size() + size > call->most + kPrefixBytes) {
    call->too_long = true;
    return NGHTTP2_ERR_CALLBACK_FAILURE;
  }
  call->answer.append(reinterpret_cast<const char*>(data), size);
  return 0;
}

int OnGrpcClose(nghttp2_session* /*session*/, std::int32_t /*stream*/, std::uint32_t /*code*/, void* user) {
  static_cast<UnaryCall*>(user)->closed = true;
  return 0;
}

// Connects to the socket without waiting: a Unix socket is accepted or refused at once.
Result<int> ConnectUnix(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return Fail(path + " is too long for a socket");
  std::memcpy(address.sun_path, path.c_str(), path.size());
  SocketFd socket_fd{socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (socket_fd.fd < 0) return Fail(std::string("no socket: ") + std::strerror(errno));
  if (connect(socket_fd.fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return Fail(path + " cannot be opened: " + std::strerror(errno));
  }
  return std::exchange(socket_fd.fd, -1);
}

nghttp2_nv HeaderPair(const char* name, const std::string& value) {
  // The library copies both, and does not change them.
  return {reinterpret_cast<std::uint8_t*>(const_cast<char*>(name)),
          reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())), std::strlen(name), value.size(),
          NGHTTP2_NV_FLAG_NONE};
}

// A session with the request in it; null if there is no memory.
std::unique_ptr<nghttp2_session, SessionDeleter> StartSession(UnaryCall* call, const std::string& method,
                                                              Nanos timeout) {
  nghttp2_session_callbacks* made = nullptr;
  nghttp2_session* session = nullptr;
  if (nghttp2_session_callbacks_new(&made) != 0) return nullptr;
  const std::unique_ptr<nghttp2_session_callbacks, CallbacksDeleter> callbacks(made);
  nghttp2_session_callbacks_set_on_header_callback(made, OnGrpcHeader);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, OnGrpcData);
  nghttp2_session_callbacks_set_on_stream_close_callback(made, OnGrpcClose);
  if (nghttp2_session_client_new(&session, made, call) != 0) return nullptr;
  std::unique_ptr<nghttp2_session, SessionDeleter> owned(session);
  const std::string limit = std::to_string(std::max<std::int64_t>(timeout.count() / 1'000'000, 1)) + "m";
  const std::array<std::string, 7> values = {"POST",     "http", "localhost", method, "application/grpc",
                                             "trailers", limit};
  constexpr std::array<const char*, 7> kNames = {":method",      ":scheme", ":authority",  ":path",
                                                 "content-type", "te",      "grpc-timeout"};
  std::vector<nghttp2_nv> headers;
  for (std::size_t i = 0; i < kNames.size(); ++i) headers.push_back(HeaderPair(kNames[i], values[i]));
  nghttp2_data_provider body = {};
  body.source.ptr = call;
  body.read_callback = ReadRequest;
  if (nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, nullptr, 0) != 0) return nullptr;
  if (nghttp2_submit_request(session, nullptr, headers.data(), headers.size(), &body, nullptr) < 0) return nullptr;
  return owned;
}

// Sends all that the session wants to send and the socket takes. False if the connection is lost.
bool SendSome(int fd, nghttp2_session* session, std::string* unsent) {
  while (true) {
    if (unsent->empty()) {
      const std::uint8_t* data = nullptr;
      const ssize_t size = nghttp2_session_mem_send(session, &data);
      if (size < 0) return false;
      if (size == 0) return true;
      unsent->assign(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
    }
    const ssize_t sent = send(fd, unsent->data(), unsent->size(), MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN || errno == EINTR;
    unsent->erase(0, static_cast<std::size_t>(sent));
  }
}

// Takes what the server sent. False if the connection is lost or its bytes are no HTTP/2.
bool ReceiveSome(int fd, nghttp2_session* session) {
  std::array<std::uint8_t, 65536> block{};
  const ssize_t got = recv(fd, block.data(), block.size(), 0);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  if (got == 0) return false;
  return nghttp2_session_mem_recv(session, block.data(), static_cast<std::size_t>(got)) == got;
}

// The message of a complete answer, or the error that the server reported.
Result<std::string> MessageOf(const UnaryCall& call) {
  if (call.http_status != "200") return Fail("the server answered with HTTP " + Printable(call.http_status));
  if (call.grpc_status != "0") {
    const std::string why = call.grpc_message.empty() ? "" : ": " + Printable(call.grpc_message.substr(0, 160));
    return Fail("the server answered with gRPC status " +
                (call.grpc_status.empty() ? "none" : Printable(call.grpc_status)) + why);
  }
  std::size_t length = 0;
  if (call.answer.size() >= kPrefixBytes) {
    for (std::size_t i = 1; i < kPrefixBytes; ++i) length = length << 8 | static_cast<unsigned char>(call.answer[i]);
  }
  if (call.answer.size() < kPrefixBytes || call.answer[0] != 0 || length != call.answer.size() - kPrefixBytes) {
    return Fail("the server's answer is not one message of gRPC");
  }
  return call.answer.substr(kPrefixBytes);
}

}  // namespace

Result<std::string> CallUnixGrpc(const std::string& socket, const std::string& method, std::string_view request,
                                 Nanos timeout, std::size_t most) {
  const Nanos deadline = MonotonicNow() + timeout;
  const SocketFd connection{TRY(ConnectUnix(socket))};
  UnaryCall call;
  call.most = most;
  call.request.push_back('\0');
  for (int shift = 24; shift >= 0; shift -= 8)
    call.request.push_back(static_cast<char>(request.size() >> shift & 0xFF));
  call.request += request;
  const auto session = StartSession(&call, method, timeout);
  if (session == nullptr) return Fail("no memory for a call");
  std::string unsent;
  bool alive = true;
  while (alive && !call.closed) {
    alive = SendSome(connection.fd, session.get(), &unsent);
    if (!alive || call.closed) break;
    const int left = MillisecondsUntil(deadline);
    if (left == 0) return Fail(socket + " gave no answer within " + DurationForPeople(timeout));
    const short wanted = static_cast<short>(unsent.empty() ? POLLIN : POLLIN | POLLOUT);
    pollfd wait = {connection.fd, wanted, 0};
    const int ready = poll(&wait, 1, left);
    if (ready > 0 && (wait.revents & ~POLLOUT) != 0) alive = ReceiveSome(connection.fd, session.get());
  }
  if (call.too_long) return Fail("the server's answer is larger than " + std::to_string(most >> 20) + " MiB");
  if (!call.closed) return Fail(socket + " closed the connection before its answer");
  return MessageOf(call);
}

}  // namespace idleburn
