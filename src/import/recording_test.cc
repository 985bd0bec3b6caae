#include "telemetry/recording.h"

#include <gtest/gtest.h>

#include "import/formats.h"
#include "support/collecting_sink.h"
#include "support/live_stream.h"
#include "telemetry/byte_coding.h"
#include "telemetry/chunk_codec.h"
#include "telemetry/run_facts.h"
#include "text/line_reader.h"

namespace idleburn {
namespace {

// A finished recording of one chunk.
std::string FileOf(const DeviceTable& devices, const RecordBatch& batch) {
  std::string totals = {1};
  PutVarint(totals, batch.size());
  return EncodeHeader(kRecordingMagic, {std::string(16, 'r'), Instant()}) +
         EncodeFrame(FrameType::kChunk,
                     ChunkEncoder().Encode(0, batch, EncodeDevices(devices), CodingEffort::kSmallest)) +
         EncodeFrame(FrameType::kEnd, totals);
}

TEST(RecordingTest, SamplesOfGpusArePassedOnAndNothingElse) {
  DeviceTable node;
  testing::EnterNode(node);
  RecordBatch batch = testing::RandomStream(2, 200, 3);
  const std::string file = FileOf(node, batch);
  EXPECT_TRUE(SniffRecording(file));
  testing::Collected out;
  StringSource source(file, "a.idleburn");
  ASSERT_TRUE(ImportRecording(source, {}, out.target));
  ASSERT_EQ(out.samples.size(), batch.samples.size());
  std::int64_t impossible = 0;
  for (std::size_t i = 0; i < batch.samples.size(); ++i) {
    Sample expected = batch.samples[i];
    if (expected.Has(Signal::kXid) && (expected.Get(Signal::kXid) < 0 || expected.Get(Signal::kXid) > INT32_MAX)) {
      expected.present &= ~Bit(Signal::kXid);
      expected.SetUnavailable(Signal::kXid, Unobserved::kInvalidCounter);
      ++impossible;
    }
    EXPECT_EQ(testing::Described(out.samples[i]), testing::Described(expected));
  }
  EXPECT_EQ(out.devices.size(), node.size());
  EXPECT_EQ(out.devices[0].counter[Index(Signal::kUtilization)], "nvml.utilization.gpu");
  EXPECT_EQ(out.quality.CountOf(QualityId::kOutOfRange), impossible);
  EXPECT_EQ(out.quality.CountOf(QualityId::kBadRow), 0);
}

TEST(RecordingTest, TimesThatCannotBeAreCounted) {
  DeviceTable node;
  testing::EnterNode(node);
  RecordBatch batch;
  for (const std::int64_t time : {std::int64_t{-1}, std::int64_t{5}, INT64_MAX}) {
    Sample sample;
    sample.time = Instant::FromNanos(time);
    sample.Set(Signal::kPower, 100'000);
    batch.Add(sample);
  }
  testing::Collected out;
  StringSource source(FileOf(node, batch), "a.idleburn");
  ASSERT_TRUE(ImportRecording(source, {}, out.target));
  ASSERT_EQ(out.samples.size(), 1U);
  EXPECT_EQ(out.samples[0].time.nanos(), 5);
  EXPECT_EQ(out.quality.CountOf(QualityId::kBadRow), 2);
}

// As Collected, and what comes beside the samples.
struct WindowOf : LiveSink {
  void OnSamples(std::span<const Sample> /*samples*/) override {}
  void OnHost(std::span<const HostSample> /*samples*/) override {}
  void OnWork(const WorkMark& /*mark*/) override {}
  void OnNote(const Note& /*note*/) override {}
  void OnFact(const RunFact& fact) override { window.Take(fact); }
  RunWindow window;
};

Sample At(std::int64_t nanos) {
  Sample sample;
  sample.time = Instant::FromNanos(nanos);
  sample.Set(Signal::kPower, 100'000);
  return sample;
}

// Its recorder was killed: there is nothing of what came after the newest reading, wherever that stands.
TEST(RecordingTest, WithoutAnEndTheRunEndsAtItsNewestReading) {
  DeviceTable node;
  testing::EnterNode(node);
  RecordBatch batch;
  batch.Add(At(7'000'000'123));
  batch.Add(At(5'000'000'000));
  for (const bool closed : {false, true}) {
    std::string file = FileOf(node, batch);
    if (!closed) file.resize(file.size() - 14);  // the frame of the end
    testing::Collected out;
    WindowOf beside;
    ImportTarget target{out.target.devices, out.target.quality, out.target.owners, out.target.sink, &beside};
    StringSource source(file, "a.idleburn");
    ASSERT_TRUE(ImportRecording(source, {}, target));
    EXPECT_FALSE(beside.window.start);
    EXPECT_EQ(beside.window.end.has_value(), !closed);
    if (!closed) {
      EXPECT_EQ(beside.window.end->nanos(), 7'000'000'123);
    }
    EXPECT_EQ(out.quality.CountOf(QualityId::kUnclosedRecording), closed ? 0 : 1);
  }
}

// What is left of it begins in its second minute; it was measured from the time that its header says.
TEST(RecordingTest, WithoutItsFirstChunkTheRunBeginsWithTheRecording) {
  DeviceTable node;
  testing::EnterNode(node);
  RecordBatch batch;
  batch.Add(At(66'000'000'000));
  const std::string file =
      EncodeHeader(kRecordingMagic, {std::string(16, 'r'), Instant::FromNanos(3'000'000'000)}) +
      EncodeFrame(FrameType::kChunk, ChunkEncoder().Encode(1, batch, EncodeDevices(node), CodingEffort::kSmallest));
  testing::Collected out;
  WindowOf beside;
  ImportTarget target{out.target.devices, out.target.quality, out.target.owners, out.target.sink, &beside};
  StringSource source(file, "a.idleburn");
  ASSERT_TRUE(ImportRecording(source, {}, target));
  ASSERT_TRUE(beside.window.start);
  EXPECT_EQ(beside.window.start->nanos(), 3'000'000'000);
  EXPECT_EQ(out.quality.CountOf(QualityId::kMissingChunk), 1);
}

TEST(RecordingTest, ARecordingThatIsCutInItsFirstMinuteSaysSo) {
  const std::string header = EncodeHeader(kRecordingMagic, {std::string(16, 'r'), Instant()});
  DeviceTable node;
  RecordBatch batch;
  batch.Add(At(5));
  const std::string whole = FileOf(node, batch);
  for (const std::string& file : {header, whole.substr(0, header.size() + 20)}) {
    testing::Collected out;
    StringSource source(file, "/nowhere/a.idleburn");
    const Result<void> done = ImportRecording(source, {}, out.target);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().message,
              "/nowhere/a.idleburn: was cut in its first minute, and /nowhere/a.idleburn.journal, the journal of that "
              "minute, is missing or empty; copy both files again");
  }
}

TEST(RecordingTest, AJournalSaysWhatItIs) {
  const std::string journal = EncodeHeader(kJournalMagic, {std::string(16, 'r'), Instant()});
  EXPECT_TRUE(SniffRecording(journal));
  testing::Collected out;
  StringSource source(journal, "a.idleburn.journal");
  const Result<void> done = ImportRecording(source, {}, out.target);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message,
            "a.idleburn.journal: is the journal of a recording; give the recording itself, without .journal");
}

}  // namespace
}  // namespace idleburn
