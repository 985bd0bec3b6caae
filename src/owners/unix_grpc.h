#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace idleburn {

// Calls a method of a gRPC server on a Unix socket: one request, one answer. `method` is "/package.Service/Method".
// Messages are serialized protobuf. The whole call, connecting included, takes at most `timeout`. The error is one
// line: no socket, no right to open it, no answer in time, a status of gRPC, or an answer of more than `most` bytes.
//
// Written on nghttp2 and not on grpc++. Every command of idleburn would load grpc++ and the 50 libraries it needs:
// 20 MB, 6 ms and 8 MB of memory at each start, and threads in a program that must fork. One unary call without
// TLS needs little more of HTTP/2 than a few headers.
Result<std::string> CallUnixGrpc(const std::string& socket, const std::string& method, std::string_view request,
                                 Nanos timeout, std::size_t most);

}  // namespace idleburn
