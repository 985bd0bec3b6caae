#include "measure/cloud_metadata.h"

#include <gtest/gtest.h>

#include "support/fake_proc.h"

namespace idleburn {

namespace {

std::optional<InstanceType> Detected(std::string_view vendor, std::string_view product, std::string_view tag = "") {
  const test::FakeRoot root;
  root.Write("/dmi/sys_vendor", std::string(vendor) + "\n");
  root.Write("/dmi/product_name", std::string(product) + "\n");
  root.Write("/dmi/chassis_asset_tag", std::string(tag) + "\n");
  return DetectInstanceType(root.path() + "/dmi");
}

TEST(InstanceType, AmazonTellsTheType) {
  EXPECT_EQ(Detected("Amazon EC2", "p5.48xlarge")->type, "p5.48xlarge");
  EXPECT_EQ(Detected("Amazon EC2", "p5.48xlarge")->provider, "aws");
  EXPECT_EQ(Detected("Amazon EC2", "HVM domU")->type, std::nullopt);
  EXPECT_EQ(Detected("Amazon EC2", "bad\x1b.type")->type, std::nullopt);
}

TEST(InstanceType, OthersTellOnlyWhoTheyAre) {
  EXPECT_EQ(Detected("Google", "Google Compute Engine")->provider, "gcp");
  EXPECT_EQ(Detected("Microsoft Corporation", "Virtual Machine", "7783-7084-3265-9085-8269-3286-77")->provider,
            "azure");
  EXPECT_FALSE(Detected("Microsoft Corporation", "Surface Laptop"));
  EXPECT_FALSE(Detected("Google", "Google Compute Engine")->type);
}

TEST(InstanceType, ElsewhereThereIsNone) {
  EXPECT_FALSE(Detected("LENOVO", "p5.48xlarge"));
  EXPECT_FALSE(DetectInstanceType("/proc/no/such/folder"));
}

}  // namespace

}  // namespace idleburn
