#include "telemetry/recording_writer.h"

#include <gtest/gtest.h>
#include <sys/mount.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "os/input_file.h"
#include "support/live_stream.h"
#include "telemetry/recording_reader.h"

namespace idleburn {
namespace {

using testing::Described;
using testing::KeptStream;

class RecordingWriterTest : public ::testing::Test {
 protected:
  RecordingWriterTest() {
    std::string name = (std::filesystem::temp_directory_path() / "idleburn-writer-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    testing::EnterNode(node_);
  }
  ~RecordingWriterTest() override {
    if (mounted_) umount(folder_.c_str());
    std::filesystem::remove_all(folder_);
  }
  [[nodiscard]] Result<std::unique_ptr<RecordingWriter>> Create(const std::string& name) {
    RecordingOptions options;
    options.tell = [this](const std::string& line) { told_.push_back(line); };
    return RecordingWriter::Create(folder_ + "/" + name, node_, options);
  }
  [[nodiscard]] std::string Refusal(const std::string& name) {
    const Result<std::unique_ptr<RecordingWriter>> writer = Create(name);
    return writer ? "" : writer.error().message;
  }
  struct Reread {
    DeviceTable devices;
    DataQuality quality;
    KeptStream sink;
    std::uint64_t chunks = 0;
  };
  std::unique_ptr<Reread> Read(const std::string& name) {
    auto reread = std::make_unique<Reread>();
    const Result<std::unique_ptr<ByteSource>> source = OpenInput(folder_ + "/" + name);
    EXPECT_TRUE(source);
    const auto summary = ReadRecording(**source, reread->devices, reread->quality, reread->sink);
    EXPECT_TRUE(summary);
    if (summary) reread->chunks = summary->chunks;
    return reread;
  }

  std::string folder_;
  bool mounted_ = false;
  DeviceTable node_;
  std::vector<std::string> told_;
};

TEST_F(RecordingWriterTest, TwoRecordersOfOneFileAreRefused) {
  const Result<std::unique_ptr<RecordingWriter>> first = Create("a.idleburn");
  ASSERT_TRUE(first);
  EXPECT_EQ(Refusal("a.idleburn"),
            folder_ + "/a.idleburn: is being recorded by another idleburn; choose another file with -o");
  ASSERT_TRUE((*first)->Close());
}

TEST_F(RecordingWriterTest, NothingThatIsThereIsWrittenOver) {
  std::ofstream(folder_ + "/b.idleburn") << "mine";
  EXPECT_EQ(Refusal("b.idleburn"),
            folder_ + "/b.idleburn: is there already; choose another file with -o, or move it away");
  EXPECT_EQ(Refusal("none/b.idleburn"), folder_ +
                                            "/none/b.idleburn: cannot be created: No such file or directory; "
                                            "choose another place for it");
  EXPECT_EQ(Refusal("."), folder_ + "/.: cannot be created: Is a directory; choose another place for it");
}

TEST_F(RecordingWriterTest, DevicesMayComeLater) {
  DeviceTable devices;
  RecordingOptions options;
  const auto writer = RecordingWriter::Create(folder_ + "/c.idleburn", devices, options);
  ASSERT_TRUE(writer);
  std::int64_t now = 1'772'445'600'000'000'000;
  for (int gpu = 0; gpu < 3; ++gpu) {
    DeviceKey key;
    key.index = gpu;
    key.name = "GPU " + std::to_string(gpu);
    const DeviceId id = devices.Enter(key);
    for (int tick = 0; tick < 100; ++tick, now += kNanosPerSecond / 4) {
      Sample sample;
      sample.time = Instant::FromNanos(now);
      sample.device = id;
      sample.Set(Signal::kPower, tick);
      (*writer)->OnSamples({&sample, 1});
    }
    (*writer)->Flush();
    const auto live = Read("c.idleburn");
    EXPECT_EQ(live->devices.size(), static_cast<std::size_t>(gpu + 1));
    EXPECT_EQ(live->sink.batch.samples.size(), static_cast<std::size_t>(100 * (gpu + 1)));
    EXPECT_EQ(live->devices[id].name, key.name);
  }
}

TEST_F(RecordingWriterTest, StampsOfAWorkloadSealNothing) {
  const auto writer = Create("e.idleburn");
  ASSERT_TRUE(writer);
  for (int tick = 0; tick < 100; ++tick) {
    Sample sample;
    sample.time = Instant::FromNanos(1'772'445'600'000'000'000 + tick * 100'000'000LL);
    (*writer)->OnSamples({&sample, 1});
    WorkMark mark;
    mark.time = Instant::FromNanos(tick % 2 == 0 ? 0 : INT64_MAX);
    (*writer)->OnWork(mark);
  }
  ASSERT_TRUE((*writer)->Close());
  EXPECT_EQ(Read("e.idleburn")->chunks, 1U);
}

// At 10 Hz, whenever it is killed until the next tick is due: the last reading on disk is a second old at most.
TEST_F(RecordingWriterTest, NoMoreThanASecondIsUnwritten) {
  const auto writer = Create("f.idleburn");
  ASSERT_TRUE(writer);
  constexpr std::int64_t kTick = 100'000'000;
  std::int64_t now = 1'772'445'600'000'000'000;
  std::int64_t oldest = 0;
  for (int tick = 0; tick < 60; ++tick, now += kTick) {
    Sample sample;
    sample.time = Instant::FromNanos(now);
    sample.Set(Signal::kPower, tick);
    (*writer)->OnSamples({&sample, 1});
    const auto kept = Read("f.idleburn");
    const auto& samples = kept->sink.batch.samples;
    if (tick >= 10) {
      ASSERT_FALSE(samples.empty());
      oldest = std::max(oldest, now + kTick - samples.back().time.nanos());
    }
  }
  EXPECT_LE(oldest, kNanosPerSecond);
  EXPECT_GE(oldest, kNanosPerSecond / 2);  // it is not written at every tick either
}

// Ten records of a second that is not over are written by nobody but Flush.
TEST_F(RecordingWriterTest, FlushWritesWhatIsThere) {
  const auto writer = Create("d.idleburn");
  ASSERT_TRUE(writer);
  const RecordBatch batch = testing::RandomStream(1, 3, 3);
  testing::PushAll(batch, **writer);
  EXPECT_TRUE(Read("d.idleburn")->sink.batch.empty());
  (*writer)->Flush();
  EXPECT_EQ(Described(Read("d.idleburn")->sink.batch), Described(batch));
}

// A full disk: said once, nothing is lost, and it goes on when there is room.
TEST_F(RecordingWriterTest, AFullDiskLosesNothing) {
  mounted_ = mount("none", folder_.c_str(), "tmpfs", 0, "size=512k") == 0;
  if (!mounted_) GTEST_SKIP() << "mounting a small disk is not permitted here";
  const auto writer = Create("full.idleburn");
  ASSERT_TRUE(writer);
  const RecordBatch early = testing::RandomStream(11, 700, 4);
  testing::PushAll(early, **writer);
  (*writer)->Flush();
  EXPECT_TRUE(told_.empty());

  {
    std::ofstream filler(folder_ + "/filler", std::ios::binary);
    while (filler.write(std::array<char, 512>().data(), 512).flush()) {
    }
  }
  const RecordBatch middle = testing::RandomStream(12, 1500, 4);  // two seals
  testing::PushAll(middle, **writer);
  (*writer)->Flush();
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_NE(told_[0].find("cannot be written: No space left on device; recording goes on in memory"), std::string::npos)
      << told_[0];
  const auto full = Read("full.idleburn");  // what was written stays readable
  std::vector<std::string> all = Described(early);
  EXPECT_GE(full->sink.batch.size(), all.size());
  EXPECT_EQ(full->quality.CountOf(QualityId::kBadRow), 0);

  std::filesystem::remove(folder_ + "/filler");
  const RecordBatch late = testing::RandomStream(13, 700, 4);
  testing::PushAll(late, **writer);
  const Result<void> closed = (*writer)->Close();
  ASSERT_TRUE(closed) << closed.error().message;
  ASSERT_EQ(told_.size(), 2U);
  EXPECT_NE(told_[1].find("full.idleburn: is written again; nothing was lost"), std::string::npos) << told_[1];
  for (const RecordBatch* batch : {&middle, &late}) {
    for (std::string& text : Described(*batch)) all.push_back(std::move(text));
  }
  EXPECT_EQ(Described(Read("full.idleburn")->sink.batch), all);
}

TEST_F(RecordingWriterTest, ADiskThatStaysFullIsAnErrorAtTheEnd) {
  mounted_ = mount("none", folder_.c_str(), "tmpfs", 0, "size=32k") == 0;
  if (!mounted_) GTEST_SKIP() << "mounting a small disk is not permitted here";
  const auto writer = Create("full.idleburn");
  ASSERT_TRUE(writer);
  const RecordBatch batch = testing::RandomStream(12, 1500, 4);
  testing::PushAll(batch, **writer);
  const Result<void> closed = (*writer)->Close();
  ASSERT_FALSE(closed);
  EXPECT_NE(closed.error().message.find("No space left on device"), std::string::npos) << closed.error().message;
  const std::vector<std::string> all = Described(batch);
  const std::vector<std::string> some = Described(Read("full.idleburn")->sink.batch);
  ASSERT_GT(some.size(), 0U);
  ASSERT_LT(some.size(), all.size());
  EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin()));
}

}  // namespace
}  // namespace idleburn
