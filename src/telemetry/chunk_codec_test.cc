#include "telemetry/chunk_codec.h"

#include <gtest/gtest.h>

#include "support/live_stream.h"
#include "support/property.h"

namespace idleburn {
namespace {

using testing::Described;
using testing::EnterNode;
using testing::KeptStream;
using testing::RandomStream;

RecordingNames Names() {
  const std::string header = EncodeHeader(kRecordingMagic, {std::string(16, 'i'), Instant()});
  return DecodeHeader(header, "file")->names;
}

struct Decoding {
  explicit Decoding(const RecordingNames& names) : decoder(names, devices, sink) {}
  DeviceTable devices;
  KeptStream sink;
  ChunkDecoder decoder;
};

TEST(ChunkDecoderTest, AnyRecordsComeBackInTheirOrder) {
  DeviceTable node;
  EnterNode(node);
  const RecordingNames names = Names();
  test::ExpectProperty("round trip", [&] {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const auto ticks = *rc::gen::inRange<std::size_t>(0, 40);
    const auto devices = *rc::gen::inRange<std::size_t>(0, node.size() + 1);
    const RecordBatch batch = RandomStream(seed, ticks, devices);
    for (const CodingEffort effort : {CodingEffort::kQuick, CodingEffort::kSmallest}) {
      ChunkEncoder encoder;
      const std::string payload = encoder.Encode(seed, batch, EncodeDevices(node), effort);
      Decoding decoding(names);
      RC_ASSERT(ChunkDecoder::NumberOf(payload) == seed);
      RC_ASSERT(decoding.decoder.Decode(payload));
      RC_ASSERT(Described(decoding.sink.batch) == Described(batch));
      RC_ASSERT(decoding.decoder.records() == batch.size());
    }
  });
}

TEST(ChunkDecoderTest, ValuesOfAnySizeComeBack) {
  DeviceTable node;
  EnterNode(node);
  const RecordingNames names = Names();
  test::ExpectProperty("any int64", [&] {
    RecordBatch batch;
    const auto values = *rc::gen::container<std::vector<std::int64_t>>(rc::gen::arbitrary<std::int64_t>());
    for (const std::int64_t value : values) {
      Sample sample;
      sample.time = Instant::FromNanos(value);
      sample.device = static_cast<DeviceId>(static_cast<std::uint64_t>(value) % node.size());
      for (const SignalInfo& info : kSignals) sample.Set(info.id, value ^ static_cast<std::int64_t>(Index(info.id)));
      batch.Add(sample);
      HostSample host;
      host.time = sample.time;
      host.scope = value % 2 == 0 ? HostScope::kMachine : HostScope::kWorkload;
      for (const HostSignalInfo& info : kHostSignals) host.Set(info.id, value);
      batch.Add(host);
    }
    ChunkEncoder encoder;
    Decoding decoding(names);
    RC_ASSERT(decoding.decoder.Decode(encoder.Encode(0, batch, EncodeDevices(node), CodingEffort::kSmallest)));
    RC_ASSERT(Described(decoding.sink.batch) == Described(batch));
  });
}

TEST(ChunkDecoderTest, TheTableOfDevicesComesBack) {
  DeviceTable node;
  EnterNode(node);
  const RecordingNames names = Names();
  Decoding decoding(names);
  ASSERT_TRUE(decoding.decoder.Decode(ChunkEncoder().Encode(0, {}, EncodeDevices(node), CodingEffort::kSmallest)));
  ASSERT_EQ(decoding.devices.size(), node.size());
  for (DeviceId id = 0; id < node.size(); ++id) {
    const Device& a = node[id];
    const Device& b = decoding.devices[id];
    EXPECT_EQ(a.uuid, b.uuid);
    EXPECT_EQ(a.bus_id, b.bus_id);
    EXPECT_EQ(a.index, b.index);
    EXPECT_EQ(a.host, b.host);
    EXPECT_EQ(a.name, b.name);
    ASSERT_EQ(a.mig.has_value(), b.mig.has_value());
    EXPECT_EQ(a.mig ? a.mig->id + a.mig->profile + std::to_string(a.mig->slices) : "",
              b.mig ? b.mig->id + b.mig->profile + std::to_string(b.mig->slices) : "");
    EXPECT_EQ(a.board, b.board);
    EXPECT_EQ(a.has_instances, b.has_instances);
    EXPECT_EQ(a.counter, b.counter);
  }
}

// In a table that knows other devices, samples come with the numbers that theirs have there.
TEST(ChunkDecoderTest, DevicesKeepTheirIdentityNotTheirNumber) {
  DeviceTable node;
  EnterNode(node);
  const RecordingNames names = Names();
  Decoding decoding(names);
  DeviceKey other;
  other.uuid = "GPU-99999999-1111-2222-3333-444444444444";
  decoding.devices.Enter(other);
  const RecordBatch batch = RandomStream(3, 5, 2);
  ASSERT_TRUE(decoding.decoder.Decode(ChunkEncoder().Encode(0, batch, EncodeDevices(node), CodingEffort::kQuick)));
  for (std::size_t i = 0; i < batch.samples.size(); ++i) {
    EXPECT_EQ(decoding.sink.batch.samples[i].device, batch.samples[i].device + 1);
  }
}

// A later version may name more signals, kinds and reasons: what this one knows is read, the rest left out.
TEST(ChunkDecoderTest, NamesThatAreNotKnownAreLeftOut) {
  DeviceTable node;
  EnterNode(node);
  RecordingNames names = Names();
  names.signals[Index(Signal::kPower)].reset();
  names.host_scopes[1].reset();
  names.note_kinds[0].reset();
  const RecordBatch batch = RandomStream(8, 60, 3);
  Decoding decoding(names);
  ASSERT_TRUE(decoding.decoder.Decode(ChunkEncoder().Encode(0, batch, EncodeDevices(node), CodingEffort::kSmallest)));
  RecordBatch known;
  testing::ForEach(batch, [&](auto record) {
    using Record = decltype(record);
    if constexpr (std::is_same_v<Record, Sample>) record.present &= ~Bit(Signal::kPower);
    if constexpr (std::is_same_v<Record, HostSample>) {
      if (record.scope == HostScope::kWorkload) return;
    }
    if constexpr (std::is_same_v<Record, Note>) {
      if (record.kind == static_cast<NoteKind>(0)) return;
    }
    known.Add(record);
  });
  EXPECT_LT(known.size(), batch.size());
  EXPECT_EQ(Described(decoding.sink.batch), Described(known));
}

TEST(ChunkDecoderTest, DamageDeliversNothingOrWholeRecords) {
  DeviceTable node;
  EnterNode(node);
  const RecordingNames names = Names();
  const RecordBatch batch = RandomStream(5, 12, 6);
  const std::string payload = ChunkEncoder().Encode(0, batch, EncodeDevices(node), CodingEffort::kQuick);
  for (std::size_t size = 0; size < payload.size(); ++size) {
    Decoding decoding(names);
    EXPECT_FALSE(decoding.decoder.Decode(std::string_view(payload).substr(0, size))) << size;
    EXPECT_TRUE(decoding.sink.batch.empty());
  }
  std::mt19937 random(4);
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = payload;
    damaged[random() % damaged.size()] = static_cast<char>(random());
    Decoding decoding(names);
    if (decoding.decoder.Decode(damaged)) {
      EXPECT_LE(decoding.sink.batch.size(), kMostRecords);
    } else {
      EXPECT_TRUE(decoding.sink.batch.empty());
    }
  }
}

}  // namespace

}  // namespace idleburn
