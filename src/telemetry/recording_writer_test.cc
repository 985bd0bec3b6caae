#include "telemetry/recording_writer.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "os/input_file.h"
#include "support/live_stream.h"
#include "telemetry/recording.h"

namespace idleburn {
namespace {

using testing::Described;
using testing::KeptStream;

// No file of this process may grow beyond `bytes`, as if the disk were full, until this is gone. (A small disk of its
// own takes rights that not everybody has.)
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {bytes, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  sighandler_t handler_ = std::signal(SIGXFSZ, SIG_IGN);  // else it kills
  rlimit before_{};
};

class RecordingWriterTest : public ::testing::Test {
 protected:
  RecordingWriterTest() {
    std::string name = (std::filesystem::temp_directory_path() / "idleburn-writer-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    testing::EnterNode(node_);
  }
  ~RecordingWriterTest() override { std::filesystem::remove_all(folder_); }
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
            folder_ + "/b.idleburn: already exists; choose another file with -o, or move it away");
  EXPECT_EQ(Refusal("none/b.idleburn"), folder_ +
                                            "/none/b.idleburn: cannot be created: No such file or directory; "
                                            "choose another place for it");
  EXPECT_EQ(Refusal("."), folder_ + "/.: cannot be created: Is a directory; choose another place for it");
}

// What a failed beginning left would be in the way of the next.
TEST_F(RecordingWriterTest, WhatCannotBeginLeavesNothing) {
  namespace fs = std::filesystem;
  const std::string file = folder_ + "/d.idleburn";
  fs::create_directory(file + ".journal.part");  // there is no place for the journal
  EXPECT_NE(Refusal("d.idleburn").find(".journal.part: cannot be written"), std::string::npos);
  EXPECT_FALSE(fs::exists(file));
  fs::remove(file + ".journal.part");
  fs::create_directories(file + ".journal/taken");  // nor for its name, once it is written
  EXPECT_NE(Refusal("d.idleburn").find(".journal: cannot be written"), std::string::npos);
  EXPECT_FALSE(fs::exists(file));
  EXPECT_FALSE(fs::exists(file + ".journal.part"));
  fs::remove_all(file + ".journal");
  const auto writer = Create("d.idleburn");
  ASSERT_TRUE(writer);
  EXPECT_TRUE((*writer)->Close());
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

// What waits for its turn is there after a kill, and comes only once when its turn has come.
TEST_F(RecordingWriterTest, SamplesThatAreHeldAreKeptOnce) {
  const auto writer = Create("h.idleburn");
  ASSERT_TRUE(writer);
  const auto row = [](DeviceId device, int tick) {
    Sample sample;
    sample.time = Instant::FromNanos(1'772'445'600'000'000'000 + tick * 100'000'000LL);
    sample.device = device;
    sample.Set(Signal::kPower, tick);
    return sample;
  };
  const auto kept = [&] {
    std::vector<std::pair<DeviceId, std::int64_t>> rows;
    const auto reread = Read("h.idleburn");
    EXPECT_EQ(reread->quality.CountOf(QualityId::kBadRow), 0);
    for (const Sample& s : reread->sink.batch.samples) rows.emplace_back(s.device, s.Get(Signal::kPower));
    std::sort(rows.begin(), rows.end());
    return rows;
  };
  std::vector<std::pair<DeviceId, std::int64_t>> all;
  std::size_t unwritten = 0;
  for (int tick = 0; tick < 1300; ++tick) {  // two seals
    std::vector<Sample> passed;
    std::vector<Sample> held;
    for (DeviceId device = 0; device < 2; ++device) {
      const int lag = device == 0 ? 3 : 9;
      if (tick >= lag) passed.push_back(row(device, tick - lag));
      for (int i = std::max(0, tick - lag + 1); i <= tick; ++i) held.push_back(row(device, i));
      all.emplace_back(device, tick);
    }
    (*writer)->OnSamples(passed);
    (*writer)->OnHeld(held);
    if (tick % 61 != 0 && (tick < 560 || tick > 640)) continue;
    std::sort(all.begin(), all.end());
    const auto rows = kept();
    ASSERT_EQ(std::adjacent_find(rows.begin(), rows.end()), rows.end()) << tick;
    ASSERT_TRUE(std::includes(all.begin(), all.end(), rows.begin(), rows.end())) << tick;
    unwritten = std::max(unwritten, all.size() - rows.size());
  }
  EXPECT_LE(unwritten, 2 * 10U + 2);  // a second of two devices; the first is written at 0.6 s
  (*writer)->Flush();
  std::sort(all.begin(), all.end());
  EXPECT_EQ(kept(), all);
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
  const auto writer = Create("full.idleburn");
  ASSERT_TRUE(writer);
  const RecordBatch early = testing::RandomStream(11, 700, 4);
  testing::PushAll(early, **writer);
  (*writer)->Flush();
  EXPECT_TRUE(told_.empty());

  const RecordBatch middle = testing::RandomStream(12, 1500, 4);  // two seals
  {
    const FileSizeLimit full(1);
    testing::PushAll(middle, **writer);
    (*writer)->Flush();
  }
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_NE(told_[0].find("cannot be written: File too large; idleburn records in memory"), std::string::npos)
      << told_[0];
  const auto full = Read("full.idleburn");  // what was written stays readable
  std::vector<std::string> all = Described(early);
  EXPECT_GE(full->sink.batch.size(), all.size());
  EXPECT_EQ(full->quality.CountOf(QualityId::kBadRow), 0);

  const RecordBatch late = testing::RandomStream(13, 700, 4);
  testing::PushAll(late, **writer);
  const Result<void> closed = (*writer)->Close();
  ASSERT_TRUE(closed) << closed.error().message;
  ASSERT_EQ(told_.size(), 2U);
  EXPECT_NE(told_[1].find("full.idleburn: idleburn writes it again; nothing was lost"), std::string::npos) << told_[1];
  for (const RecordBatch* batch : {&middle, &late}) {
    for (std::string& text : Described(*batch)) all.push_back(std::move(text));
  }
  EXPECT_EQ(Described(Read("full.idleburn")->sink.batch), all);
}

TEST_F(RecordingWriterTest, AFileThatIsDeletedIsAnErrorAtTheEndAndIsToldOnce) {
  const auto writer = Create("gone.idleburn");
  ASSERT_TRUE(writer);
  testing::PushAll(testing::RandomStream(14, 700, 2), **writer);
  (*writer)->Flush();
  std::filesystem::remove(folder_ + "/gone.idleburn");
  testing::PushAll(testing::RandomStream(15, 1500, 2), **writer);
  const Result<void> closed = (*writer)->Close();
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().message, folder_ + "/gone.idleburn: was deleted while it was written");
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_NE(told_[0].find("this run will have no recording"), std::string::npos) << told_[0];
}

// The journal is only a minute's worth: it is made anew, and a kill after that costs no more than any.
TEST_F(RecordingWriterTest, AJournalThatIsDeletedIsMadeAnew) {
  const auto writer = Create("j.idleburn");
  ASSERT_TRUE(writer);
  const RecordBatch first = testing::RandomStream(16, 100, 2);
  testing::PushAll(first, **writer);
  (*writer)->Flush();
  std::filesystem::remove(folder_ + "/j.idleburn.journal");
  (*writer)->Flush();
  EXPECT_EQ(Described(Read("j.idleburn")->sink.batch), Described(first));
  EXPECT_TRUE(told_.empty());
  EXPECT_TRUE((*writer)->Close());
}

TEST_F(RecordingWriterTest, ADiskThatStaysFullIsAnErrorAtTheEnd) {
  const auto writer = Create("full.idleburn");
  ASSERT_TRUE(writer);
  const RecordBatch batch = testing::RandomStream(12, 1500, 4);
  Result<void> closed;
  {
    const FileSizeLimit full(24'000);
    testing::PushAll(batch, **writer);
    closed = (*writer)->Close();
  }
  ASSERT_FALSE(closed);
  EXPECT_NE(closed.error().message.find("File too large"), std::string::npos) << closed.error().message;
  const std::vector<std::string> all = Described(batch);
  const std::vector<std::string> some = Described(Read("full.idleburn")->sink.batch);
  ASSERT_GT(some.size(), 0U);
  ASSERT_LT(some.size(), all.size());
  EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin()));
}

}  // namespace
}  // namespace idleburn
