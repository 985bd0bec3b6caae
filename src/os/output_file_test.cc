#include "os/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "os/temporary_file.h"

namespace idleburn {
namespace {

namespace fs = std::filesystem;

std::string TextOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

unsigned ModeOf(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
}

TEST(OutputFileTest, AFileThatIsThereKeepsItsPermissions) {
  const ScratchFolder folder = ScratchFolder::Make("").value();
  for (const unsigned mode : {0600U, 0640U, 0664U}) {
    const std::string path = folder.path() + "/report";
    ASSERT_TRUE(WriteFileWhole(path, "old"));
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    ASSERT_TRUE(WriteFileWhole(path, "new"));
    EXPECT_EQ(TextOf(path), "new");
    EXPECT_EQ(ModeOf(path), mode);
  }
}

TEST(OutputFileTest, ALinkStaysOneAndWhatItNamesIsWritten) {
  const ScratchFolder folder = ScratchFolder::Make("").value();
  fs::create_directory(folder.path() + "/kept");
  const std::string real = folder.path() + "/kept/report";
  const std::string link = folder.path() + "/latest";
  ASSERT_TRUE(WriteFileWhole(real, "old"));
  fs::create_symlink("kept/report", link);
  ASSERT_TRUE(WriteFileWhole(link, "new"));
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(TextOf(real), "new");
  EXPECT_FALSE(fs::exists(link + ".part"));
  EXPECT_FALSE(fs::exists(real + ".part"));
}

TEST(OutputFileTest, ANewFileIsWrittenAndNothingElse) {
  const ScratchFolder folder = ScratchFolder::Make("").value();
  const std::string path = folder.path() + "/report";
  ASSERT_TRUE(WriteFileWhole(path, "text"));
  EXPECT_EQ(TextOf(path), "text");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
  const Result<void> nowhere = WriteFileWhole(folder.path() + "/no/report", "text");
  ASSERT_FALSE(nowhere);
  EXPECT_NE(nowhere.error().message.find("cannot be written: No such file or directory"), std::string::npos);
}

}  // namespace
}  // namespace idleburn
