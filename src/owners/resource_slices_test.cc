#include "owners/resource_slices.h"

#include <gtest/gtest.h>

#include "support/property.h"

namespace idleburn {
namespace {

std::string Slice(const std::string& device, const std::string& uuid, int generation, int count, bool beta = false) {
  const std::string attributes = R"("attributes": {"type": {"string": "gpu"}, "uuid": {"string": ")" + uuid + R"("}})";
  return R"({"spec": {"driver": "gpu.nvidia.com", "nodeName": "n", "pool": {"name": "n", "generation": )" +
         std::to_string(generation) + R"(, "resourceSliceCount": )" + std::to_string(count) +
         R"(}, "devices": [{"name": ")" + device + R"(", )" + (beta ? "\"basic\": {" + attributes + "}" : attributes) +
         "}]}}";
}

SliceUuids UuidsOf(const std::string& slices) {
  const auto uuids = ParseResourceSlices("{\"items\": [" + slices + "]}");
  EXPECT_TRUE(uuids) << uuids.error().message;
  return uuids.value_or(SliceUuids{});
}

const DraDevice kGpu0 = {"gpu.nvidia.com", "n", "gpu-0"};
const DraDevice kGpu1 = {"gpu.nvidia.com", "n", "gpu-1"};

TEST(ResourceSlicesTest, FindsUuids) {
  const SliceUuids uuids = UuidsOf(Slice("gpu-0", "GPU-a", 1, 2) + "," + Slice("gpu-1", "GPU-b", 1, 2, true));
  EXPECT_EQ(uuids, (SliceUuids{{kGpu0, "GPU-a"}, {kGpu1, "GPU-b"}}));
}

TEST(ResourceSlicesTest, TakesOnlyTheNewestCompleteGeneration) {
  EXPECT_EQ(UuidsOf(Slice("gpu-0", "GPU-old", 1, 1) + "," + Slice("gpu-0", "GPU-new", 2, 1)),
            (SliceUuids{{kGpu0, "GPU-new"}}));
  // Half of the newest generation is here: neither it nor the older one counts.
  EXPECT_TRUE(UuidsOf(Slice("gpu-0", "GPU-new", 2, 2) + "," + Slice("gpu-0", "GPU-old", 1, 1)).empty());
}

TEST(ResourceSlicesTest, RefusesOtherDocuments) {
  for (const char* text : {"", "{}", "[]", "{\"items\": 3}", "{\"items\": [{}]}", "{\"items\": [{\"spec\": {}}]}"}) {
    EXPECT_FALSE(ParseResourceSlices(text)) << text;
  }
  test::ExpectProperty("any text", [](const std::string& text) { ParseResourceSlices("{\"items\": [" + text); });
}

}  // namespace
}  // namespace idleburn
