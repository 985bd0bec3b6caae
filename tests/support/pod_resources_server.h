#pragma once

#include <memory>
#include <string>

namespace idleburn::testing {

// A gRPC server on a Unix socket that answers as the kubelet's pod-resources API, v1, with bytes that a test gives. It
// is grpc++, so the client under test meets another implementation than its own.
class PodResourcesServer {
 public:
  // What List and GetAllocatableResources answer with: serialized messages.
  struct Replies {
    std::string list;
    std::string allocatable;
    bool unknown_method = false;  // GetAllocatableResources answers UNIMPLEMENTED, as before Kubernetes 1.23
    bool hang = false;            // no answer comes, until the server ends
  };
  // Replaces a socket of that path.
  PodResourcesServer(const std::string& socket, Replies replies);
  ~PodResourcesServer();
  PodResourcesServer(const PodResourcesServer&) = delete;
  PodResourcesServer& operator=(const PodResourcesServer&) = delete;

 private:
  struct Service;
  std::unique_ptr<Service> service_;
};

}  // namespace idleburn::testing
