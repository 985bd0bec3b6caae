#include "support/pod_resources_server.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <utility>

namespace idleburn::testing {
namespace {

// One call: reads the request, and answers by its method.
class KubeletCall final : public grpc::ServerGenericBidiReactor {
 public:
  KubeletCall(const std::string& method, const PodResourcesServer::Replies& replies)
      : replies_(replies), method_(method) {
    StartRead(&request_);
  }
  void OnReadDone(bool) override {
    if (replies_.hang) return;
    const bool list = method_ == "/v1.PodResourcesLister/List";
    if (!list && (replies_.unknown_method || method_ != "/v1.PodResourcesLister/GetAllocatableResources")) {
      return Finish(grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "unknown \x1b method"));
    }
    const grpc::Slice slice(list ? replies_.list : replies_.allocatable);
    reply_ = grpc::ByteBuffer(&slice, 1);
    StartWriteAndFinish(&reply_, {}, grpc::Status::OK);
  }
  void OnCancel() override {
    if (replies_.hang) Finish(grpc::Status::CANCELLED);
  }
  void OnDone() override { delete this; }

 private:
  const PodResourcesServer::Replies& replies_;
  std::string method_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer reply_;
};

}  // namespace

struct PodResourcesServer::Service final : public grpc::CallbackGenericService {
  explicit Service(Replies given) : replies(std::move(given)) {}
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
    return new KubeletCall(context->method(), replies);
  }
  Replies replies;
  std::unique_ptr<grpc::Server> server;
};

PodResourcesServer::PodResourcesServer(const std::string& socket, Replies replies)
    : service_(std::make_unique<Service>(std::move(replies))) {
  unlink(socket.c_str());
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
  builder.RegisterCallbackGenericService(service_.get());
  service_->server = builder.BuildAndStart();
  if (service_->server == nullptr) ADD_FAILURE() << "no gRPC server on " << socket;
}

PodResourcesServer::~PodResourcesServer() {
  if (service_->server != nullptr) service_->server->Shutdown(std::chrono::system_clock::now());
}

}  // namespace idleburn::testing
