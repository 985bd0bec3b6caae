#include "owners/pod_resources.h"

#include <gtest/gtest.h>

#include "support/property.h"

namespace idleburn {
namespace {

// A field of protobuf with length: `number` below 16, and less than 128 bytes.
std::string Field(int number, const std::string& bytes) {
  return std::string({static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())}) + bytes;
}

// Written by hand from the numbers of the API, with fields that idleburn does not know.
std::string ListOfOnePod() {
  const std::string devices = Field(1, "nvidia.com/gpu") + Field(2, "GPU-a") + Field(2, "GPU-b") + Field(3, "topology");
  const std::string claimed = Field(1, "cdi") + Field(2, "gpu.nvidia.com") + Field(3, "pool") + Field(4, "gpu-0");
  const std::string dynamic = Field(2, "claim") + Field(3, "ml") + Field(4, claimed);
  const std::string container = Field(1, "main") + Field(2, devices) + Field(5, dynamic);
  return Field(1, Field(1, "pod-1") + Field(2, "ml") + Field(3, container) + Field(9, "new"));
}

TEST(PodResourcesTest, ReadsTheFieldNumbersOfTheApi) {
  const auto pods = ParsePodList(ListOfOnePod());
  ASSERT_TRUE(pods) << pods.error().message;
  ASSERT_EQ(pods->size(), 1U);
  const ListedPod& pod = pods->front();
  EXPECT_EQ(pod.name, "pod-1");
  EXPECT_EQ(pod.ns, "ml");
  ASSERT_EQ(pod.devices.size(), 1U);
  EXPECT_EQ(pod.devices[0].resource, "nvidia.com/gpu");
  EXPECT_EQ(pod.devices[0].ids, (std::vector<std::string>{"GPU-a", "GPU-b"}));
  ASSERT_EQ(pod.claims.size(), 1U);
  EXPECT_EQ(pod.claims[0], (DraDevice{"gpu.nvidia.com", "pool", "gpu-0"}));
  const auto offered = ParseAllocatable(Field(1, Field(1, "nvidia.com/gpu") + Field(2, "GPU-a::0")));
  ASSERT_TRUE(offered);
  EXPECT_EQ(offered->front().ids, std::vector<std::string>{"GPU-a::0"});
}

TEST(PodResourcesTest, RefusesOtherBytes) {
  EXPECT_TRUE(ParsePodList("")->empty());
  const std::string whole = ListOfOnePod();
  for (std::size_t size = 1; size < whole.size(); ++size) EXPECT_FALSE(ParsePodList(whole.substr(0, size))) << size;
  test::ExpectProperty("any bytes", [](const std::string& bytes) {
    ParsePodList(bytes);
    ParseAllocatable(bytes);
  });
}

}  // namespace
}  // namespace idleburn
