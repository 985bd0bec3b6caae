#include "os/folder.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace idleburn {

namespace {

class FolderProbeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "idleburn-probe-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

TEST_F(FolderProbeTest, AFolderThatIsNotThereYetIsJudgedByTheOneAboveIt) {
  const FolderProbe probe = ProbeFolder((folder_ / "a" / "b").string());
  EXPECT_EQ(probe.existing, folder_.string());
  EXPECT_EQ(probe.fault, "");
  EXPECT_EQ(probe.free_bytes / 1'000'000'000,
            static_cast<std::int64_t>(std::filesystem::space(folder_).available) / 1'000'000'000);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(FolderProbeTest, AFileInTheWayIsAFault) {
  std::ofstream(folder_ / "file") << "x";
  const FolderProbe probe = ProbeFolder((folder_ / "file" / "below").string());
  EXPECT_EQ(probe.fault, "Not a directory");
}

}  // namespace

}  // namespace idleburn
