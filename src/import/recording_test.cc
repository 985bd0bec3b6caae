#include "import/recording.h"

#include <gtest/gtest.h>

#include "import/collecting_sink.h"
#include "support/live_stream.h"
#include "telemetry/byte_coding.h"
#include "telemetry/chunk_encoder.h"
#include "telemetry/recording_format.h"
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

TEST(RecordingTest, AJournalSaysWhatItIs) {
  const std::string journal = EncodeHeader(kJournalMagic, {std::string(16, 'r'), Instant()});
  EXPECT_TRUE(SniffRecording(journal));
  testing::Collected out;
  StringSource source(journal, "a.idleburn.journal");
  const Result<void> done = ImportRecording(source, {}, out.target);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message,
            "a.idleburn.journal: is the journal of a recording; name the recording beside it, without .journal");
}

}  // namespace
}  // namespace idleburn
