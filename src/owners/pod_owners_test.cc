#include "owners/pod_owners.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/property.h"

namespace idleburn {
namespace {

const std::string kUidA = "aaaaaaaa-3b1d-4c56-9d0a-2b7f6c1e8d11";
const std::string kUidB = "bbbbbbbb-3b1d-4c56-9d0a-2b7f6c1e8d11";

std::vector<NodeGpu> ThreeGpus() {
  return {{"GPU-a", 0, "00000000:10:00.0", 1, "", {}},
          {"GPU-b", 1, "00000000:20:00.0", 0, "", {}},
          {"GPU-c", 2, "00000000:30:00.0", 2, "", {}},
          {"MIG-c3", 2, "00000000:30:00.0", {}, "GPU-c", 3}};
}

ListedPod PodWith(const std::string& name, std::vector<std::string> ids,
                  const std::string& resource = "nvidia.com/gpu") {
  return {name, "ml", {{resource, std::move(ids)}}, {}};
}

Instant Second(std::int64_t second) { return Instant::FromNanos(second * kNanosPerSecond); }

std::string ShownClaims(const SourceAnswer& answer) {
  std::string text;
  for (const OwnerClaim& claim : answer.claims) {
    const Holding& h = claim.holding;
    text += h.owner.job + "=" + h.uuid + " " + std::to_string(h.part) + "/" + std::to_string(h.parts) + " " +
            std::string(kOwnerProofNames[static_cast<std::size_t>(h.proof)]) + "\n";
  }
  return text;
}

// A moment with these pods on a machine that shows groups and logs.
PodView ViewOf(std::vector<ListedPod> pods, std::int64_t second = 100) {
  PodView view;
  view.now = Second(second);
  view.pods = std::move(pods);
  view.allocatable.emplace();
  view.groups.pods = true;
  return view;
}

TEST(PodOwnersTest, ReadsEveryFormOfId) {
  const std::vector<NodeGpu> gpus = ThreeGpus();
  const auto shown = [&](std::string_view id) {
    const auto parsed = ParsePluginId(id, gpus);
    return parsed ? parsed->uuid + (parsed->replica ? " shared" : "") : "none";
  };
  EXPECT_EQ(shown("GPU-a"), "GPU-a");
  EXPECT_EQ(shown("GPU-a::3"), "GPU-a shared");
  EXPECT_EQ(shown("MIG-c3"), "MIG-c3");
  EXPECT_EQ(shown("MIG-c3::0"), "MIG-c3 shared");
  EXPECT_EQ(shown("nvidia0"), "GPU-b");  // the minor number, not the index
  EXPECT_EQ(shown("nvidia0/vgpu1"), "GPU-b shared");
  EXPECT_EQ(shown("nvidia2/gi3"), "MIG-c3");
  EXPECT_EQ(shown("nvidia2/gi3/vgpu1"), "MIG-c3 shared");
  for (const char* id : {"", "GPU-x", "GPU-a::", "GPU-a::x", "GPU-c", "nvidia9", "nvidia", "nvidia2", "nvidia2/gi4",
                         "nvidia0/gi", "nvidia0/vgpu1/gi3", "nvidia0/x", "nvidia0/"}) {
    EXPECT_EQ(shown(id), "none") << id;
  }
  test::ExpectProperty("any text", [&](const std::string& text) {
    ParsePluginId(text, gpus);
    ParsePluginId("nvidia" + text, gpus);
  });
}

TEST(PodOwnersTest, SharesReplicasOfTheAdvertisedOnes) {
  PodView view =
      ViewOf({PodWith("one", {"GPU-a::0", "GPU-a::2"}), PodWith("two", {"GPU-a::1"}), PodWith("three", {"GPU-b"})});
  view.allocatable = {{"nvidia.com/gpu", {"GPU-a::0", "GPU-a::1", "GPU-a::2", "GPU-a::3", "GPU-b"}}};
  EXPECT_EQ(ShownClaims(PodOwners().Update(view, ThreeGpus())),
            "ml/one=GPU-a 2/4 estimated\nml/two=GPU-a 1/4 estimated\nml/three=GPU-b 1/1 scheduler\n");
  view.allocatable.reset();
  EXPECT_EQ(ShownClaims(PodOwners().Update(view, ThreeGpus())),
            "ml/one=GPU-a 2/3 estimated\nml/two=GPU-a 1/3 estimated\nml/three=GPU-b 1/1 scheduler\n");
}

TEST(PodOwnersTest, SkipsOtherResources) {
  const SourceAnswer answer =
      PodOwners().Update(ViewOf({PodWith("p", {"0", "GPU-a"}, "rdma/hca"), PodWith("q", {}, "cpu")}), ThreeGpus());
  EXPECT_EQ(ShownClaims(answer), "");
  EXPECT_TRUE(answer.complete);
  EXPECT_TRUE(answer.errors.empty());
}

TEST(PodOwnersTest, IsIncompleteWhereADeviceIsNotFound) {
  const SourceAnswer answer = PodOwners().Update(ViewOf({PodWith("p", {"GPU-x"})}), ThreeGpus());
  EXPECT_FALSE(answer.complete);
  EXPECT_NE(answer.errors[0].find("1 device that is not known"), std::string::npos);
}

TEST(PodOwnersTest, FindsDevicesOfDynamicAllocation) {
  const DraDevice device = {"gpu.nvidia.com", "n", "gpu-0"};
  PodView view = ViewOf(
      {{"p", "ml", {}, {device, {"compute-domain.nvidia.com", "n", "channel-0"}}}, {"q", "ml", {}, {device, device}}});
  EXPECT_FALSE(PodOwners().Update(view, ThreeGpus()).complete);  // no reader of slices: owned, but not known by whom
  view.slices[device] = "GPU-a";
  const SourceAnswer answer = PodOwners().Update(view, ThreeGpus());
  EXPECT_TRUE(answer.complete);
  EXPECT_EQ(ShownClaims(answer), "ml/p=GPU-a 1/2 estimated\nml/q=GPU-a 1/2 estimated\n");
}

// Pods that ended stay in the list for minutes (kubernetes#119423).
TEST(PodOwnersTest, EndsAPodWhenItsProcessesAreGone) {
  PodOwners owners;
  const auto at = [&](std::int64_t second, std::optional<bool> runs) {
    PodView view = ViewOf({PodWith("p", {"GPU-a"})}, second);
    view.log_folders = {"ml_p_" + kUidA, "ml_p2_" + kUidB};
    if (runs) view.groups.pod_has_processes[kUidA] = *runs;
    return owners.Update(view, ThreeGpus());
  };
  EXPECT_EQ(at(100, false).claims.size(), 1U);  // its image is being pulled
  EXPECT_EQ(at(110, true).claims.size(), 1U);
  const SourceAnswer ended = at(120, false);
  EXPECT_TRUE(ended.claims.empty());
  EXPECT_TRUE(ended.complete);
  ASSERT_EQ(ended.ended.size(), 1U);
  EXPECT_EQ(ended.ended[0].job, "ml/p");
  EXPECT_EQ(ended.ended[0].start, Second(100));
  EXPECT_TRUE(at(130, std::nullopt).claims.empty());
  EXPECT_TRUE(at(130, std::nullopt).ended.empty());
  EXPECT_EQ(owners.NameOfUid(kUidA), "ml/p");
}

TEST(PodOwnersTest, KnowsAPodThatEndedBeforeTheAgentStarted) {
  PodView view = ViewOf({PodWith("p", {"GPU-a"})});
  view.log_folders = {"ml_p_" + kUidA};
  EXPECT_TRUE(PodOwners().Update(view, ThreeGpus()).claims.empty());
  // Where control groups are not visible, the end cannot be seen, and that is said.
  view.groups.pods = false;
  const SourceAnswer blind = PodOwners().Update(view, ThreeGpus());
  EXPECT_EQ(blind.claims.size(), 1U);
  ASSERT_EQ(blind.errors.size(), 1U);
  EXPECT_NE(blind.errors[0].find("not visible"), std::string::npos);
}

TEST(PodOwnersTest, KeepsPodsOfOneNameApart) {
  PodOwners owners;
  const auto at = [&](std::int64_t second, const std::string& uid) {
    PodView view = ViewOf({PodWith("p", {"GPU-a"})}, second);
    view.log_folders = {"ml_p_" + uid};
    view.groups.pod_has_processes[uid] = true;
    return owners.Update(view, ThreeGpus());
  };
  EXPECT_EQ(at(100, kUidA).claims[0].holding.owner.start, Second(100));
  EXPECT_EQ(at(110, kUidA).claims[0].holding.owner.start, Second(100));
  const SourceAnswer again = at(120, kUidB);
  EXPECT_EQ(again.claims[0].holding.owner.start, Second(120));
  ASSERT_EQ(again.ended.size(), 1U);
  EXPECT_EQ(again.ended[0].start, Second(100));
}

TEST(PodOwnersTest, StartsAPodWhenItsLogsWereMade) {
  PodView view = ViewOf({PodWith("p", {"GPU-a"})});
  view.log_folders = {"ml_p_" + kUidA};
  view.groups.pod_has_processes[kUidA] = true;
  view.made = [](const std::string& folder) {
    return folder == "ml_p_" + kUidA ? std::optional(Second(42)) : std::nullopt;
  };
  EXPECT_EQ(PodOwners().Update(view, ThreeGpus()).claims[0].holding.owner.start, Second(42));
}

TEST(PodOwnersTest, EndsAPodThatIsNoLongerListed) {
  PodOwners owners;
  owners.Update(ViewOf({PodWith("p", {"GPU-a"})}), ThreeGpus());
  EXPECT_EQ(owners.Update(ViewOf({}, 110), ThreeGpus()).ended.size(), 1U);
  EXPECT_EQ(owners.Update(ViewOf({}, 120), ThreeGpus()).ended.size(), 0U);
}

TEST(PodOwnersTest, KeepsHostileNamesHarmless) {
  const SourceAnswer answer =
      PodOwners().Update(ViewOf({PodWith("p\"\n\x1b" + std::string(10'000, 'x'), {"GPU-a"})}), ThreeGpus());
  EXPECT_EQ(answer.claims[0].holding.owner.job, "ml/p\"??" + std::string(252, 'x'));
}

}  // namespace
}  // namespace idleburn
