#include "os/input_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include "text/line_reader.h"

namespace idleburn {

namespace {

class InputFileTest : public ::testing::Test {
 protected:
  InputFileTest() {
    std::string folder = (std::filesystem::temp_directory_path() / "input.XXXXXX").string();
    EXPECT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
  }
  ~InputFileTest() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, std::string_view bytes) {
    const std::string path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  static std::string ErrorOf(const std::string& path) {
    const auto input = OpenInput(path);
    return input ? "" : input.error().message;
  }

  std::filesystem::path folder_;
};

TEST_F(InputFileTest, ReadsPlainAndPackedFiles) {
  const std::string plain = Write("a.csv", "one\ntwo\n");
  EXPECT_EQ(ReadAll(**OpenInput(plain), 100).value(), "one\ntwo\n");
  EXPECT_EQ((*OpenInput(plain))->name(), plain);
  const std::string packed = (folder_ / "no-extension").string();
  for (int member = 0; member < 2; ++member) {
    gzFile gz = gzopen(packed.c_str(), "ab");
    gzputs(gz, "one\ntwo\n");
    gzclose(gz);
  }
  EXPECT_EQ(ReadAll(**OpenInput(packed), 100).value(), "one\ntwo\none\ntwo\n");
  std::filesystem::resize_file(packed, std::filesystem::file_size(packed) - 3);
  const auto cut = OpenInput(packed).value();
  EXPECT_EQ(ReadAll(*cut, 100).value(), "one\ntwo\none\ntwo\n");
  EXPECT_TRUE(cut->truncated());
}

// What editors and spreadsheets put before UTF-8 is no part of the text; it is nothing special further on.
TEST_F(InputFileTest, DropsAByteOrderMark) {
  const std::string mark = "\xEF\xBB\xBF";
  for (const std::string text : {"a", "one\ntwo\n", ""}) {
    EXPECT_EQ(ReadAll(**OpenInput(Write("marked.csv", mark + text)), 100).value(), text);
    EXPECT_EQ(ReadAll(**OpenInput(Write("twice.csv", mark + mark + text)), 100).value(), mark + text);
    EXPECT_EQ(ReadAll(**OpenInput(Write("later.csv", "x" + mark + text)), 100).value(), "x" + mark + text);
  }
  EXPECT_EQ(ReadAll(**OpenInput(Write("cut.csv", mark.substr(0, 2))), 100).value(), mark.substr(0, 2));
}

TEST_F(InputFileTest, SaysWhyAFileCannotBeRead) {
  EXPECT_EQ(ErrorOf("/proc/nonexistent/log.csv"),
            "/proc/nonexistent/log.csv: cannot be opened: No such file or directory; check the path");
  const std::string folder = folder_.string();
  EXPECT_EQ(ErrorOf(folder), folder + ": is a directory; name the files in it, for example " + folder + "/*.csv");
  const std::string empty = Write("empty.csv", "");
  EXPECT_EQ(ErrorOf(empty), empty + ": is empty; nothing was recorded, or the copy failed");
  EXPECT_EQ(ErrorOf("/dev/null"), "/dev/null: is empty; nothing was recorded, or the copy failed");
  EXPECT_NE(ErrorOf("/proc/self/mem").find("/proc/self/mem: cannot be read: Input/output error"), std::string::npos);
}

// In a child, so that root can drop its rights: 0 where the message is the expected one.
TEST_F(InputFileTest, SaysThatPermissionIsMissing) {
  const std::string path = Write("secret.csv", "a\n");
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  ASSERT_EQ(chmod(folder_.c_str(), 0755), 0);
  const pid_t child = fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (getuid() == 0 && setuid(kNobody) != 0) _exit(2);
    _exit(ErrorOf(path) == path + ": cannot be opened: Permission denied; ask its owner or copy it" ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(InputFileTest, ReadsStandardInputInPieces) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    for (const char* piece : {"on", "e\nt", "wo\n"}) {
      if (write(ends[1], piece, std::string_view(piece).size()) < 0) _exit(1);
      usleep(2000);
    }
    _exit(0);
  }
  close(ends[1]);
  const int saved = dup(STDIN_FILENO);
  dup2(ends[0], STDIN_FILENO);
  {
    const auto input = OpenInput("-").value();
    EXPECT_EQ(input->name(), "standard input");
    EXPECT_EQ(ReadAll(*input, 100).value(), "one\ntwo\n");
  }
  dup2(saved, STDIN_FILENO);
  close(saved);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
}

TEST(PeekSourceTest, LooksWithoutTaking) {
  PeekSource source(std::make_unique<StringSource>("abcdefgh"));
  EXPECT_EQ(source.Peek(3).value(), "abc");
  EXPECT_EQ(source.Peek(2).value(), "ab");
  EXPECT_EQ(source.Peek(5).value(), "abcde");
  EXPECT_EQ(source.Peek(100).value(), "abcdefgh");
  std::string block(3, '\0');
  std::string all;
  while (const std::size_t n = source.Read(block).value()) all.append(block, 0, n);
  EXPECT_EQ(all, "abcdefgh");
}

// Gives a few bytes at a time, so that characters are cut.
class Dripping final : public ByteSource {
 public:
  Dripping(std::string bytes, std::size_t step, bool truncated = false)
      : bytes_(std::move(bytes)), step_(step), truncated_(truncated) {}
  Result<std::size_t> Read(std::span<char> out) override {
    const std::size_t n = std::min({out.size(), step_, bytes_.size() - at_});
    bytes_.copy(out.data(), n, at_);
    at_ += n;
    return n;
  }
  [[nodiscard]] bool truncated() const override { return truncated_ && at_ == bytes_.size(); }
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  std::string bytes_;
  std::string name_ = "log";
  std::size_t step_;
  bool truncated_;
  std::size_t at_ = 0;
};

std::string Bytes(std::u16string_view text, bool big) {
  std::string bytes;
  for (const char16_t unit : text) {
    const char high = static_cast<char>(unit >> 8);
    const char low = static_cast<char>(unit & 0xFF);
    bytes += big ? std::string{high, low} : std::string{low, high};
  }
  return bytes;
}

std::string Decoded(const std::string& bytes, std::size_t step, std::size_t room = 5) {
  const auto source = DecodeUtf16(std::make_unique<Dripping>(bytes, step));
  std::string text;
  std::string buffer(room, '\0');
  while (true) {
    const Result<std::size_t> got = source->Read(std::span(buffer));
    if (!got || *got == 0) return text;
    text.append(buffer, 0, *got);
  }
}

TEST(Utf16, EitherOrderAndEveryCut) {
  const std::u16string_view text = u"\uFEFF45 %, \u00e9\u20ac\U0001F525\r\n";
  const std::string utf8 = "45 %, \xC3\xA9\xE2\x82\xAC\xF0\x9F\x94\xA5\r\n";
  for (std::size_t step = 1; step < 20; ++step) {
    EXPECT_EQ(Decoded(Bytes(text, false), step), utf8) << step;
    EXPECT_EQ(Decoded(Bytes(text, true), step), utf8) << step;
  }
}

TEST(Utf16, SaysThatWhatItDecodesWasCutOff) {
  std::array<char, 16> buffer{};
  for (const bool truncated : {false, true}) {
    const auto source = DecodeUtf16(std::make_unique<Dripping>(Bytes(u"\uFEFF45", false), 3, truncated));
    while (source->Read(buffer).value() > 0) {
    }
    EXPECT_EQ(source->truncated(), truncated);
  }
}

TEST(Utf16, HalvesOfCharactersAreMarked) {
  const char16_t lone_high[] = {0xFEFF, 'a', 0xD83D, 'b', 0};
  const char16_t lone_low[] = {0xFEFF, 'a', 0xDD25, 'b', 0};
  const char16_t last_high[] = {0xFEFF, 'a', 0xD83D, 0};
  EXPECT_EQ(Decoded(Bytes(lone_high, false), 3),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(Decoded(Bytes(lone_low, false), 3),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(Decoded(Bytes(last_high, false), 3), "a\xEF\xBF\xBD");
  EXPECT_EQ(Decoded(Bytes(u"\uFEFFa", false) + "b", 3), "a\xEF\xBF\xBD");
}

TEST(Utf16, ToldByItsMarkOnly) {
  EXPECT_TRUE(SniffUtf16(Bytes(u"\uFEFFa", false)));
  EXPECT_TRUE(SniffUtf16(Bytes(u"\uFEFFa", true)));
  EXPECT_FALSE(SniffUtf16("\xFF"));
  EXPECT_FALSE(SniffUtf16("\xEF\xBB\xBFtime"));
  EXPECT_FALSE(SniffUtf16(Bytes(u"ab", false)));
}

}  // namespace

}  // namespace idleburn
