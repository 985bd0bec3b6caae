// Owners of GPUs by the kubelet's pod-resources API, asked of a real gRPC server: its replies, its silence, and its
// restarts.
#include "owners/pod_resources.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <optional>

#include "owners/owner_poll.h"
#include "owners/pod_resources.pb.h"
#include "owners/unix_grpc.h"
#include "support/pod_resources_server.h"
#include "support/program.h"

namespace idleburn::testing {
namespace {

constexpr Nanos kSecond{kNanosPerSecond};

// A list of pods "name" with ids of nvidia.com/gpu.
std::string ListOf(const std::vector<std::pair<std::string, std::vector<std::string>>>& pods) {
  podresources::ListReply reply;
  for (const auto& [name, ids] : pods) {
    podresources::Pod* pod = reply.add_pods();
    pod->set_name(name);
    pod->set_namespace_name("ml");
    podresources::Devices* devices = pod->add_containers()->add_devices();
    devices->set_resource_name("nvidia.com/gpu");
    for (const std::string& id : ids) devices->add_device_ids(id);
  }
  return reply.SerializeAsString();
}

std::string OfferOf(const std::vector<std::string>& ids) {
  podresources::AllocatableReply reply;
  podresources::Devices* devices = reply.add_devices();
  devices->set_resource_name("nvidia.com/gpu");
  for (const std::string& id : ids) devices->add_device_ids(id);
  return reply.SerializeAsString();
}

// A node of two GPUs with a kubelet of the test's own.
class PodResourcesTest : public ::testing::Test {
 protected:
  PodResourcesTest() {
    options_.squeue = "";
    options_.scontrol = "";
    options_.pod_socket = Socket();
    options_.pod_logs = (folder_.path() / "logs").string();
    options_.cgroups = (folder_.path() / "cgroup").string();
    options_.pod_timeout = 2 * kSecond;
    gpus_ = {{"GPU-a", 0, "00000000:10:00.0", 0, "", {}}, {"GPU-b", 1, "00000000:20:00.0", 1, "", {}}};
  }
  [[nodiscard]] std::string Socket() const { return (folder_.path() / "kubelet.sock").string(); }
  void Serve(PodResourcesServer::Replies replies) {
    server_.reset();
    server_.emplace(Socket(), std::move(replies));
  }
  Holdings Poll(std::int64_t second) {
    if (!poll_) poll_.emplace(*OwnerPoll::Make(options_));
    return poll_->Poll(Instant::FromNanos(second * kNanosPerSecond), gpus_, {});
  }
  static std::string Shown(const Holdings& holdings) {
    std::string text;
    for (const Holding& h : holdings.held) {
      text += h.uuid + "=" + h.owner.job + " " + std::to_string(h.part) + "/" + std::to_string(h.parts) + "\n";
    }
    for (const std::string& uuid : holdings.unknown) text += uuid + " unknown\n";
    return text;
  }

  TempFolder folder_;
  OwnerOptions options_;
  std::vector<NodeGpu> gpus_;
  std::optional<PodResourcesServer> server_;
  std::optional<OwnerPoll> poll_;
};

TEST_F(PodResourcesTest, ReadsTheListAndTheReplicas) {
  Serve({ListOf({{"one", {"GPU-a::0"}}, {"two", {"GPU-a::1", "GPU-a::2"}}}),
         OfferOf({"GPU-a::0", "GPU-a::1", "GPU-a::2", "GPU-a::3"})});
  EXPECT_EQ(Shown(Poll(100)), "GPU-a=ml/one 1/4\nGPU-a=ml/two 2/4\n");
}

TEST_F(PodResourcesTest, ReadsAnAnswerOfManyFrames) {
  std::vector<std::pair<std::string, std::vector<std::string>>> pods;
  for (int i = 0; i < 5000; ++i) pods.push_back({"p" + std::to_string(i) + std::string(200, 'x'), {}});
  pods.push_back({"last", {"GPU-b"}});
  Serve({ListOf(pods), OfferOf({})});
  EXPECT_EQ(Shown(Poll(100)), "GPU-b=ml/last 1/1\n");
}

TEST_F(PodResourcesTest, FollowsAKubeletThatRestarts) {
  Serve({ListOf({{"one", {"GPU-a"}}}), OfferOf({})});
  EXPECT_EQ(Shown(Poll(100)), "GPU-a=ml/one 1/1\n");
  server_.reset();
  const Holdings down = Poll(110);
  EXPECT_EQ(Shown(down), "GPU-a unknown\nGPU-b unknown\n");
  ASSERT_EQ(down.errors.size(), 1U);
  EXPECT_TRUE(down.errors[0].starts_with("kubernetes: " + Socket() + " cannot be opened")) << down.errors[0];
  EXPECT_TRUE(down.ended.empty());  // no answer is no end
  Serve({ListOf({{"two", {"GPU-b"}}}), OfferOf({})});
  const Holdings up = Poll(120);
  EXPECT_EQ(Shown(up), "GPU-b=ml/two 1/1\n");
  ASSERT_EQ(up.ended.size(), 1U);
  EXPECT_EQ(up.ended[0].job, "ml/one");
}

TEST_F(PodResourcesTest, GivesUpOnAKubeletThatHangs) {
  options_.pod_timeout = Nanos(300'000'000);
  Serve({"", "", false, true});
  const auto start = std::chrono::steady_clock::now();
  const Holdings holdings = Poll(100);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  EXPECT_EQ(Shown(holdings), "GPU-a unknown\nGPU-b unknown\n");
  ASSERT_EQ(holdings.errors.size(), 1U);
  // The server ends the call itself when the deadline that it was told is over, or the client does: both are failures.
  EXPECT_TRUE(holdings.errors[0].starts_with("kubernetes: ")) << holdings.errors[0];
}

// A socket that accepts and says nothing, not even HTTP/2.
TEST_F(PodResourcesTest, GivesUpOnASilentSocket) {
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, Socket().c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(listener, 4), 0);
  const auto list = ListPods(Socket(), Nanos(300'000'000));
  ASSERT_FALSE(list);
  EXPECT_EQ(list.error().message, Socket() + " gave no answer within 300 ms");
  close(listener);
}

TEST_F(PodResourcesTest, NamesWhatAServerRefuses) {
  Serve({ListOf({{"one", {"GPU-a::0"}}}), "", true});
  const Holdings holdings = Poll(100);
  EXPECT_EQ(Shown(holdings), "GPU-a=ml/one 1/1\n");
  EXPECT_NE(holdings.errors.at(1).find("gRPC status 12"), std::string::npos) << holdings.errors[0];
  EXPECT_EQ(holdings.errors[1].find('\x1b'), std::string::npos);
  Serve({"no protobuf at all", ""});
  EXPECT_EQ(Shown(Poll(110)), "GPU-a unknown\nGPU-b unknown\n");
  Serve({ListOf({{std::string(2'000'000, 'x'), {}}}), ""});
  EXPECT_EQ(CallUnixGrpc(Socket(), "/v1.PodResourcesLister/List", "", 5 * kSecond, 1 << 20).error().message,
            "the server's answer is larger than 1 MiB");
}

}  // namespace
}  // namespace idleburn::testing
