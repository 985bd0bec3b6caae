#include "telemetry/recording.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>

#include "os/output_file.h"
#include "support/live_stream.h"
#include "support/property.h"
#include "telemetry/chunk_codec.h"
#include "telemetry/recording_writer.h"
#include "text/line_reader.h"

namespace idleburn {
namespace {

using testing::Described;
using testing::KeptStream;

class RecordingReaderTest : public ::testing::Test {
 protected:
  RecordingReaderTest() {
    std::string name = (std::filesystem::temp_directory_path() / "idleburn-recording-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    testing::EnterNode(node_);
  }
  ~RecordingReaderTest() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  [[nodiscard]] std::unique_ptr<RecordingWriter> Writer(const std::string& path) const {
    RecordingOptions options;
    options.sync = false;
    Result<std::unique_ptr<RecordingWriter>> writer = RecordingWriter::Create(path, node_, options);
    EXPECT_TRUE(writer) << (writer ? "" : writer.error().message);
    return std::move(*writer);
  }

  struct Reread {
    Result<RecordingSummary> summary;
    DeviceTable devices;
    DataQuality quality;
    KeptStream sink;
  };
  static std::unique_ptr<Reread> Read(const std::string& path) {
    auto reread = std::make_unique<Reread>();
    StringSource source(ReadFileIfThere(path, kMostPayload)->value_or(""), path);
    reread->summary = ReadRecording(source, reread->devices, reread->quality, reread->sink);
    return reread;
  }
  // A recording of some chunks that was not closed, as a kill leaves it: its two files.
  struct Killed {
    std::string file;
    std::string journal;
  };
  static Instant LatestOf(const RecordBatch& batch) {
    const auto earlier = [](const Sample& a, const Sample& b) { return a.time < b.time; };
    return std::max_element(batch.samples.begin(), batch.samples.end(), earlier)->time;
  }
  Killed Kill(const RecordBatch& batch) {
    const std::string path = Path("killed.idleburn");
    const auto writer = Writer(path);
    testing::PushAll(batch, *writer);
    writer->Flush();
    Killed killed;
    // A chunk that is full may still be being sealed; the tests want to see one.
    const bool full = batch.size() > 0 && LatestOf(batch) - batch.samples.front().time > std::chrono::seconds(61);
    const std::size_t header = EncodeHeader(kRecordingMagic, {std::string(16, ' '), Instant()}).size();
    do {
      killed.journal = **ReadFileIfThere(path + ".journal", kMostPayload);
      killed.file = **ReadFileIfThere(path, kMostPayload);
    } while (full && killed.file.size() <= header && usleep(5000) == 0);
    return killed;
  }
  std::string Put(const std::string& name, const Killed& killed) {
    std::ofstream(Path(name), std::ios::binary) << killed.file;
    std::ofstream(Path(name) + ".journal", std::ios::binary) << killed.journal;
    return Path(name);
  }

  std::string folder_;
  DeviceTable node_;
};

std::vector<std::string> FirstOf(const std::vector<std::string>& all, std::size_t count) {
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count)};
}

TEST_F(RecordingReaderTest, AnyStreamComesBack) {
  int made = 0;
  test::ExpectProperty("round trip", [&] {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const auto ticks = *rc::gen::inRange<std::size_t>(0, 2000);  // three chunks
    const RecordBatch batch = testing::RandomStream(seed, ticks, 3);
    const std::string path = Path(std::to_string(made++) + ".idleburn");
    const auto writer = Writer(path);
    testing::PushAll(batch, *writer);
    RC_ASSERT(writer->Close().has_value());
    RC_ASSERT(!std::filesystem::exists(path + ".journal"));
    const auto reread = Read(path);
    RC_ASSERT(reread->summary.has_value());
    RC_ASSERT(reread->summary->closed);
    RC_ASSERT(reread->summary->records == batch.size());
    RC_ASSERT(Described(reread->sink.batch) == Described(batch));
    for (const QualityInfo& info : kQualityTable) RC_ASSERT(reread->quality.CountOf(info.id) == 0);
  });
}

TEST_F(RecordingReaderTest, WhatIsNotClosedIsReadWhole) {
  const RecordBatch batch = testing::RandomStream(4, 1500, 4);
  const std::string path = Put("copy", Kill(batch));
  const auto reread = Read(path);
  ASSERT_TRUE(reread->summary);
  EXPECT_FALSE(reread->summary->closed);
  EXPECT_GE(reread->summary->chunks, 1U);
  EXPECT_EQ(Described(reread->sink.batch), Described(batch));
  EXPECT_EQ(reread->quality.CountOf(QualityId::kTornRow), 0);
  EXPECT_EQ(reread->quality.CountOf(QualityId::kTruncatedInput), 0);
}

// While a chunk is sealed its rows are in both files: they count once.
TEST_F(RecordingReaderTest, RowsOfBothFilesCountOnce) {
  const RecordBatch batch = testing::RandomStream(4, 300, 4);
  const std::string path = Path("a.idleburn");
  const auto writer = Writer(path);
  testing::PushAll(batch, *writer);
  writer->Flush();
  const std::string journal = **ReadFileIfThere(path + ".journal", kMostPayload);
  ASSERT_TRUE(writer->Close());
  const Killed both = {**ReadFileIfThere(path, kMostPayload), journal};
  EXPECT_EQ(Described(Read(Put("both", both))->sink.batch), Described(batch));
  Killed unclosed = both;
  unclosed.file.resize(unclosed.file.size() - kFrameHeadSize - 3);  // the end: 1 + 2 bytes of totals
  const auto reread = Read(Put("unclosed", unclosed));
  EXPECT_FALSE(reread->summary->closed);
  EXPECT_EQ(Described(reread->sink.batch), Described(batch));
}

// Cut anywhere, the file opens, gives the first records, and loses no more than the frame that is cut.
TEST_F(RecordingReaderTest, TheJournalMayBeCutAnywhere) {
  const RecordBatch batch = testing::RandomStream(9, 80, 2);
  const Killed killed = Kill(batch);
  const std::vector<std::string> all = Described(batch);
  std::size_t most = 0;
  const std::size_t header = EncodeHeader(kJournalMagic, {std::string(16, ' '), Instant()}).size();
  for (std::size_t size = killed.journal.size(); size >= header; --size) {
    const auto reread = Read(Put("cut", {killed.file, killed.journal.substr(0, size)}));
    ASSERT_TRUE(reread->summary);
    const std::vector<std::string> some = Described(reread->sink.batch);
    ASSERT_EQ(some, FirstOf(all, some.size()));
    if (size == killed.journal.size()) {
      ASSERT_EQ(some.size(), all.size());
      most = some.size();
    }
    // A second is ten ticks of two devices and some more.
    const bool whole = reread->quality.CountOf(QualityId::kTornRow) == 0;
    if (whole) {
      ASSERT_LE(most - some.size(), 60U) << size;
      most = some.size();
    }
    ASSERT_EQ(reread->quality.CountOf(QualityId::kBadRow), 0);
  }
}

TEST_F(RecordingReaderTest, TheFileMayBeCutAnywhere) {
  const RecordBatch batch = testing::RandomStream(9, 650, 2);
  const Killed killed = Kill(batch);
  const std::vector<std::string> all = Described(batch);
  const std::size_t header = EncodeHeader(kRecordingMagic, {std::string(16, ' '), Instant()}).size();
  ASSERT_GT(killed.file.size(), header + 1000);
  for (std::size_t size = 0; size < killed.file.size(); size += size < header + 200 ? 1 : 37) {
    const std::string cut = Path("cut");
    std::ofstream(cut, std::ios::binary) << killed.file.substr(0, size);
    const auto reread = Read(cut);
    ASSERT_EQ(reread->summary.has_value(), size >= header) << size;
    if (!reread->summary) {
      ASSERT_EQ(reread->summary.error().message.find('\n'), std::string::npos);
      continue;
    }
    const std::vector<std::string> some = Described(reread->sink.batch);
    ASSERT_EQ(some, FirstOf(all, some.size()));
    // Without its journal, and not closed: said either way.
    ASSERT_EQ(reread->quality.CountOf(QualityId::kTornRow) + reread->quality.CountOf(QualityId::kTruncatedInput), 1);
  }
}

TEST_F(RecordingReaderTest, ADamagedChunkCostsThatChunkOnly) {
  const RecordBatch batch = testing::RandomStream(21, 1900, 2);
  const Killed killed = Kill(batch);
  const std::vector<std::string> all = Described(batch);
  const std::size_t header = EncodeHeader(kRecordingMagic, {std::string(16, ' '), Instant()}).size();
  const std::size_t size = DecodeFrameHead(killed.file.substr(header, kFrameHeadSize))->size;
  for (std::size_t at = 0; at < size; at += 97) {
    Killed damaged = killed;
    char& byte = damaged.file[header + kFrameHeadSize + at];
    byte = static_cast<char>(byte ^ 1);
    const auto reread = Read(Put("damaged", damaged));
    ASSERT_EQ(reread->quality.CountOf(QualityId::kBadRow), 1) << at;
    const std::vector<std::string> some = Described(reread->sink.batch);
    ASSERT_GT(some.size(), 0U);
    ASSERT_LT(some.size(), all.size());
    ASSERT_TRUE(std::equal(some.rbegin(), some.rend(), all.rbegin())) << at;
  }
}

// Where each frame of a recording ends, from the end of its header on.
std::vector<std::size_t> FrameEnds(const std::string& file) {
  std::vector<std::size_t> ends = {EncodeHeader(kRecordingMagic, {std::string(16, ' '), Instant()}).size()};
  while (ends.back() + kFrameHeadSize <= file.size()) {
    const auto head = DecodeFrameHead(std::string_view(file).substr(ends.back(), kFrameHeadSize));
    if (!head || ends.back() + kFrameHeadSize + head->size > file.size()) break;
    ends.push_back(ends.back() + kFrameHeadSize + head->size);
  }
  return ends;
}

// The numbers of the chunks of which a journal has seconds.
std::set<std::uint64_t> ChunksOf(const std::string& journal) {
  std::set<std::uint64_t> numbers;
  std::size_t at = EncodeHeader(kJournalMagic, {std::string(16, ' '), Instant()}).size();
  while (at + kFrameHeadSize <= journal.size()) {
    const auto head = DecodeFrameHead(std::string_view(journal).substr(at, kFrameHeadSize));
    if (!head || at + kFrameHeadSize + head->size > journal.size()) break;
    const auto number = ChunkDecoder::NumberOf(std::string_view(journal).substr(at + kFrameHeadSize, head->size));
    if (head->type == FrameType::kSecond && number) numbers.insert(*number);
    at += kFrameHeadSize + head->size;
  }
  return numbers;
}

// The journal is whole and belongs to the file, and minutes between the two are gone. A journal may have seconds of
// chunks that were still being sealed, so here it is one of the open chunk alone.
TEST_F(RecordingReaderTest, AFileThatIsCutBeforeItsJournalLacksChunks) {
  const RecordBatch batch = testing::RandomStream(31, 3100, 2);
  const auto writer = Writer(Path("killed.idleburn"));
  testing::PushAll(batch, *writer);
  Killed killed;
  do {
    writer->Flush();
    killed = {**ReadFileIfThere(Path("killed.idleburn"), kMostPayload),
              **ReadFileIfThere(Path("killed.idleburn.journal"), kMostPayload)};
  } while (ChunksOf(killed.journal).size() > 1 && usleep(5000) == 0);
  const std::vector<std::string> all = Described(batch);
  const std::vector<std::size_t> ends = FrameEnds(killed.file);
  ASSERT_GE(ends.size(), 4U);
  for (std::size_t kept = 0; kept < ends.size(); ++kept) {
    for (const std::size_t more : {std::size_t{0}, std::size_t{5}}) {  // at a border, and within a frame
      const Killed cut = {killed.file.substr(0, ends[kept] + more), killed.journal};
      const auto reread = Read(Put("cut", cut));
      ASSERT_TRUE(reread->summary);
      const auto lost = static_cast<std::int64_t>(ends.size() - 1 - kept);
      EXPECT_EQ(reread->quality.CountOf(QualityId::kMissingChunk), lost) << kept;
      EXPECT_EQ(reread->quality.CountOf(QualityId::kBadRow), 0);
      EXPECT_EQ(reread->quality.CountOf(QualityId::kUnclosedRecording), 1);
      EXPECT_EQ(reread->summary->start_missing, kept == 0);
      const std::vector<std::string> some = Described(reread->sink.batch);
      ASSERT_GT(some.size(), 0U);
      EXPECT_TRUE(std::equal(some.rbegin(), some.rbegin() + 10, all.rbegin()));  // the journal's are all there
    }
  }
}

TEST_F(RecordingReaderTest, AChunkThatIsCutOutIsMissedEvenWhereTheEndIsThere) {
  const RecordBatch batch = testing::RandomStream(32, 3100, 2);
  const std::string path = Path("whole.idleburn");
  const auto writer = Writer(path);
  testing::PushAll(batch, *writer);
  ASSERT_TRUE(writer->Close());
  const std::string file = **ReadFileIfThere(path, kMostPayload);
  const std::vector<std::size_t> ends = FrameEnds(file);
  ASSERT_GE(ends.size(), 5U);  // three chunks and the end
  for (std::size_t out = 0; out + 2 < ends.size(); ++out) {
    const auto reread = Read(Put("holed", {file.substr(0, ends[out]) + file.substr(ends[out + 1]), ""}));
    EXPECT_TRUE(reread->summary->closed);
    EXPECT_EQ(reread->quality.CountOf(QualityId::kMissingChunk), 1) << out;
    EXPECT_EQ(reread->quality.CountOf(QualityId::kBadRow), 0) << out;
    EXPECT_EQ(reread->quality.CountOf(QualityId::kUnclosedRecording), 0);
    EXPECT_EQ(reread->summary->start_missing, out == 0);
  }
  std::string damaged = file;
  damaged[ends[1] + kFrameHeadSize + 3] = static_cast<char>(damaged[ends[1] + kFrameHeadSize + 3] ^ 1);
  const auto reread = Read(Put("damaged", {damaged, ""}));
  EXPECT_EQ(reread->quality.CountOf(QualityId::kBadRow), 1);  // and not a second time
  EXPECT_EQ(reread->quality.CountOf(QualityId::kMissingChunk), 0);
}

TEST_F(RecordingReaderTest, WhoeverWritesHoldsTheFile) {
  const std::string path = Path("held.idleburn");
  auto writer = Writer(path);
  testing::PushAll(testing::RandomStream(5, 30, 2), *writer);
  writer->Flush();
  const auto live = Read(path);
  EXPECT_TRUE(live->summary->being_written);
  EXPECT_EQ(live->quality.CountOf(QualityId::kUnclosedRecording), 0);
  const Killed copy = {**ReadFileIfThere(path, kMostPayload), **ReadFileIfThere(path + ".journal", kMostPayload)};
  const auto copied = Read(Put("copy", copy));
  EXPECT_FALSE(copied->summary->being_written);
  EXPECT_EQ(copied->quality.CountOf(QualityId::kUnclosedRecording), 1);
  ASSERT_TRUE(writer->Close());
  EXPECT_EQ(Read(path)->quality.CountOf(QualityId::kUnclosedRecording), 0);
}

TEST_F(RecordingReaderTest, AForeignJournalIsCountedAndLeftOut) {
  const Killed mine = Kill(testing::RandomStream(1, 20, 2));
  std::filesystem::remove(Path("killed.idleburn"));
  const Killed other = Kill(testing::RandomStream(2, 20, 2));
  const auto reread = Read(Put("mixed", {mine.file, other.journal}));
  ASSERT_TRUE(reread->summary);
  EXPECT_TRUE(reread->sink.batch.empty());
  EXPECT_EQ(reread->quality.CountOf(QualityId::kBadRow), 1);
  EXPECT_EQ(reread->quality.CountOf(QualityId::kTruncatedInput), 1);
}

TEST_F(RecordingReaderTest, ANewerVersionIsRefusedInOneLine) {
  Killed killed = Kill(testing::RandomStream(1, 20, 2));
  killed.file[kRecordingMagic.size()] = 9;
  const auto reread = Read(Put("newer", killed));
  ASSERT_FALSE(reread->summary);
  EXPECT_EQ(reread->summary.error().message,
            Path("newer") +
                ": is a recording of format 9, but this idleburn reads only up to 1; read it with a newer idleburn");
}

TEST_F(RecordingReaderTest, ItMayBeReadWhileItIsWritten) {
  const RecordBatch batch = testing::RandomStream(6, 1400, 3);
  const std::vector<std::string> all = Described(batch);
  const std::string path = Path("live.idleburn");
  const auto writer = Writer(path);
  std::size_t pushed = 0;
  std::size_t before = 0;
  testing::ForEach(batch, [&](const auto& record) {
    testing::Push(record, *writer);
    if (++pushed % 97 != 0) return;
    const auto reread = Read(path);
    ASSERT_TRUE(reread->summary);
    const std::vector<std::string> some = Described(reread->sink.batch);
    ASSERT_LE(some.size(), pushed);
    ASSERT_GE(some.size(), before);
    ASSERT_LE(pushed - some.size(), 120U);  // one second and the tick that ends it
    ASSERT_EQ(some, FirstOf(all, some.size()));
    before = some.size();
  });
  EXPECT_GT(before, 0U);
}

}  // namespace
}  // namespace idleburn
