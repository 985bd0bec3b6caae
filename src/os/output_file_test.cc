#include "os/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

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

namespace {

// As long as told, in small pieces.
class Pieces final : public ByteSource {
 public:
  Pieces(std::size_t size, bool fails) : left_(size), fails_(fails) {}
  Result<std::size_t> Read(std::span<char> out) override {
    if (left_ == 0 && fails_) return Fail("pieces: cannot be read");
    const std::size_t n = std::min({out.size(), left_, std::size_t{100'000}});
    std::fill_n(out.begin(), n, 'p');
    left_ -= n;
    return n;
  }
  [[nodiscard]] bool truncated() const override { return false; }
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  std::size_t left_;
  bool fails_;
  std::string name_ = "pieces";
};

class SpooledFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* before = std::getenv("TMPDIR");
    if (before != nullptr) before_ = before;
    folder_ = ::testing::TempDir() + "spool.XXXXXX";
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    setenv("TMPDIR", folder_.c_str(), 1);
  }
  void TearDown() override {
    if (before_.empty()) {
      unsetenv("TMPDIR");
    } else {
      setenv("TMPDIR", before_.c_str(), 1);
    }
    std::filesystem::remove_all(folder_);
  }
  [[nodiscard]] std::ptrdiff_t Files() const { return std::distance(std::filesystem::directory_iterator(folder_), {}); }
  std::string folder_;
  std::string before_;
};

TEST_F(SpooledFileTest, HoldsWhatTheStreamDelivered) {
  Pieces in(3'456'789, false);
  std::ifstream open;
  {
    const Result<SpooledFile> file = SpooledFile::Of(in);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(std::filesystem::file_size(file->path()), 3'456'789U);
    EXPECT_EQ(Files(), 1);
    open.open(file->path(), std::ios::binary);
  }
  EXPECT_EQ(Files(), 0);  // the name is gone, not the bytes
  const std::string content(std::istreambuf_iterator<char>(open), {});
  EXPECT_EQ(content, std::string(3'456'789, 'p'));
}

TEST_F(SpooledFileTest, LeavesNothingAfterAnError) {
  Pieces in(200'000, true);
  const Result<SpooledFile> file = SpooledFile::Of(in);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().message, "pieces: cannot be read");
  EXPECT_EQ(Files(), 0);
}

TEST_F(SpooledFileTest, SaysWhereThereIsNoRoom) {
  setenv("TMPDIR", (folder_ + "/none").c_str(), 1);
  Pieces in(10, false);
  const Result<SpooledFile> file = SpooledFile::Of(in);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().message.find("pieces: cannot be unpacked to " + folder_ + "/none/idleburn."), 0U);
  EXPECT_NE(file.error().message.find("; name another folder in TMPDIR"), std::string::npos);
}

}  // namespace

}  // namespace idleburn
