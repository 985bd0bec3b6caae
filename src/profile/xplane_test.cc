#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "profile/profile_importers.h"
#include "support/call_time.h"
#include "text/line_reader.h"

namespace idleburn {
namespace {

// The wire format by hand: protobuf itself is what is tested with it.
std::string Varint(std::uint64_t value) {
  std::string out;
  for (; value >= 128; value >>= 7) out += static_cast<char>((value & 127) | 128);
  return out + static_cast<char>(value);
}
std::string Number(int field, std::int64_t value) {
  return Varint(static_cast<std::uint64_t>(field) << 3) + Varint(static_cast<std::uint64_t>(value));
}
std::string Bytes(int field, const std::string& value) {
  return Varint((static_cast<std::uint64_t>(field) << 3) | 2) + Varint(value.size()) + value;
}

// Numbers and names that a plane's events refer to, in the maps that follow its lines.
class Plane {
 public:
  explicit Plane(std::string name) : name_(std::move(name)) {}

  std::string Stat(const std::string& name, std::int64_t value) {
    return Bytes(4, Number(1, IdOf(stats_, name)) + Number(4, value));
  }
  std::string Stat(const std::string& name, const std::string& value) {
    return Bytes(4, Number(1, IdOf(stats_, name)) + Bytes(5, value));
  }
  std::string StatRef(const std::string& name, const std::string& value) {
    return Bytes(4, Number(1, IdOf(stats_, name)) + Number(7, IdOf(stats_, value)));
  }
  // Times in nanoseconds after the line's.
  std::string Event(const std::string& name, std::int64_t start, std::int64_t length, const std::string& stats = "") {
    return Bytes(4, Number(1, IdOf(events_, name)) + Number(2, start * 1000) + Number(3, length * 1000) + stats);
  }
  Plane& Line(const std::string& name, const std::string& events, std::int64_t time = 1000) {
    lines_ += Bytes(3, Number(1, ++line_) + Bytes(2, name) + Number(3, time) + events);
    return *this;
  }
  Plane& Has(const std::string& stat) {
    lines_ += Bytes(6, stat.substr(2));  // the same message under another number; its size fits in a byte
    return *this;
  }
  [[nodiscard]] std::string Encoded() const {
    std::string all = Number(1, 3) + Bytes(2, name_) + lines_;
    for (std::size_t i = 0; i < events_.size(); ++i) all += Entry(4, i, events_[i]);
    for (std::size_t i = 0; i < stats_.size(); ++i) all += Entry(5, i, stats_[i]);
    return Bytes(1, all);
  }

 private:
  static std::int64_t IdOf(std::vector<std::string>& names, const std::string& name) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == name) return static_cast<std::int64_t>(i) + 1;
    }
    names.push_back(name);
    return static_cast<std::int64_t>(names.size());
  }
  static std::string Entry(int field, std::size_t index, const std::string& name) {
    const auto id = static_cast<std::int64_t>(index) + 1;
    return Bytes(field, Number(1, id) + Bytes(2, Number(1, id) + Bytes(2, name)));
  }

  std::string name_;
  std::string lines_;
  std::vector<std::string> events_;
  std::vector<std::string> stats_;
  std::int64_t line_ = 0;
};

struct Read {
  Result<Profile> profile;
  DataQuality quality;
};
Read ReadBytes(const std::string& bytes) {
  Read read;
  StringSource in(bytes, "job.xplane.pb");
  read.profile = ReadXplane(in, read.quality);
  return read;
}

Plane Gpu() {
  Plane gpu("/device:GPU:1");
  gpu.Line("Stream #7(Compute,MemcpyH2D)",
           gpu.Event("fusion_12", 100, 50, gpu.Stat("correlation_id", 41)) +
               gpu.Event("ncclDevKernel_AllReduce", 150, 30, gpu.Stat("correlation_id", 42)) +
               gpu.Event("MemcpyH2D", 200, 10,
                         gpu.Stat("correlation_id", 43) +
                             gpu.Stat("memcpy_details", "kind_src:pageable kind_dst:device size:4096 dest:1 async:1")) +
               gpu.Event("MemoryAlloc", 210, 5))
      .Line("Stream #9(Memset)",
            gpu.Event("Memset", 300, 2, gpu.StatRef("memset_details", "kind:device size:64 async:1")))
      .Line("XLA Modules", gpu.Event("jit_step", 100, 110))
      .Line("CUPTI overhead", gpu.Event("Overhead", 400, 20));
  gpu.Has(gpu.Stat("device_type_string", "NVIDIA A100")).Has(gpu.Stat("memory_size", 42949672960));
  return gpu;
}

TEST(XplaneTest, ReadsStreamsOfADevice) {
  const Read read = ReadBytes(Gpu().Encoded());
  ASSERT_TRUE(read.profile) << read.profile.error().message;
  const Profile& profile = *read.profile;
  ASSERT_EQ(profile.devices.size(), 1U);
  const ProfiledDevice& device = profile.devices[0];
  EXPECT_EQ(device.id, 1);
  EXPECT_EQ(device.model, "NVIDIA A100");
  EXPECT_EQ(device.memory_bytes, 42949672960);
  ASSERT_EQ(device.events.size(), 4U);
  EXPECT_EQ(profile.names[device.events[0].name], "fusion_12");
  EXPECT_EQ(device.events[0].op, DeviceOp::kKernel);
  EXPECT_EQ(device.events[0].start_ns, 1100);
  EXPECT_EQ(device.events[0].end_ns, 1150);
  EXPECT_EQ(device.events[0].correlation, 41);
  EXPECT_EQ(device.events[0].stream, 7U);
  EXPECT_EQ(device.events[1].op, DeviceOp::kComm);
  EXPECT_EQ(device.events[2].op, DeviceOp::kMemcpy);
  EXPECT_EQ(device.events[2].copy, CopyKind::kHtoD);
  EXPECT_EQ(device.events[2].from, MemoryKind::kPageable);
  EXPECT_EQ(device.events[2].to, MemoryKind::kDevice);
  EXPECT_EQ(device.events[2].bytes, 4096);
  EXPECT_EQ(device.events[3].op, DeviceOp::kMemset);
  EXPECT_EQ(device.events[3].bytes, 64);
  EXPECT_EQ(device.events[3].stream, 9U);
  EXPECT_EQ(profile.host.overhead.TotalNs(), 20);
  EXPECT_EQ(profile.events_total, 7);
  EXPECT_EQ(read.quality.CountOf(QualityId::kUnknownEvent), 0);
  EXPECT_EQ(profile.file, "job.xplane.pb");
}

TEST(XplaneTest, ReadsHostThreads) {
  Plane host("/host:CPU");
  host.Line("python3", host.Event("cudaLaunchKernel", 10, 5, host.Stat("correlation_id", 41)) +
                           host.Event("cuStreamSynchronize", 20, 5, host.Stat("correlation_id", 50)) +
                           host.Event("cudaMemcpyAsync", 30, 7, host.Stat("correlation_id", 43)) +
                           host.Event("$train.py:12 step", 0, 90) + host.Event("IteratorGetNextOp::DoCompute", 50, 20) +
                           host.Event("PjitFunction(step)", 5, 30) +
                           host.Event("train", 0, 100, host.Stat("step_num", 6)));
  const Read read = ReadBytes(Gpu().Encoded() + host.Encoded());
  ASSERT_TRUE(read.profile) << read.profile.error().message;
  const Profile& profile = *read.profile;
  ASSERT_EQ(profile.calls.size(), 3U);
  EXPECT_EQ(profile.calls[0].kind, CallKind::kLaunchKernel);
  EXPECT_EQ(profile.calls[0].correlation, profile.devices[0].events[0].correlation);
  EXPECT_EQ(profile.calls[0].process, profile.devices[0].events[0].process);
  EXPECT_EQ(test::CallNs(profile, CallKind::kMemcpy), 7);
  EXPECT_EQ(profile.host.dataloader.TotalNs(), 20);
  EXPECT_EQ(profile.host.cpu_op.TotalNs(), 50);
  ASSERT_EQ(profile.steps.size(), 1U);
  EXPECT_EQ(profile.steps[0].number, 6);
  EXPECT_EQ(profile.steps[0].start_ns, 1000);
  EXPECT_EQ(profile.steps[0].end_ns, 1100);
  ASSERT_EQ(profile.frames.size(), 3U);
  EXPECT_TRUE(std::any_of(profile.frames.begin(), profile.frames.end(), [&](const HostFrame& frame) {
    return frame.python && profile.names[frame.name] == "$train.py:12 step";
  }));
}

TEST(XplaneTest, CopiesInTheWordsOfOlderRocmAreCopies) {
  Plane gpu("/device:GPU:0");
  gpu.Line("Stream #9(MemcpyOther)", gpu.Event("CopyDeviceToDevice", 0, 10) + gpu.Event("CopyHostToDevice", 20, 5) +
                                         gpu.Event("CopyDeviceToHost2D", 30, 5) + gpu.Event("FillBuffer", 40, 2) +
                                         gpu.Event("MemoryAllocation", 50, 9) + gpu.Event("copy.1", 60, 3));
  const Read read = ReadBytes(gpu.Encoded());
  ASSERT_TRUE(read.profile);
  const std::vector<DeviceEvent>& events = read.profile->devices.at(0).events;
  ASSERT_EQ(events.size(), 5U);  // an allocation is no work of the device
  EXPECT_EQ(events[0].copy, CopyKind::kDtoD);
  EXPECT_EQ(events[1].copy, CopyKind::kHtoD);
  EXPECT_EQ(events[2].copy, CopyKind::kDtoH);
  EXPECT_EQ(events[3].op, DeviceOp::kMemset);
  EXPECT_EQ(events[4].op, DeviceOp::kKernel);  // XLA's own name of a kernel that copies
}

TEST(XplaneTest, StepsOfADeviceServeWhereTheHostMarksNone) {
  Plane gpu("/device:GPU:0");
  gpu.Line("Stream #1", gpu.Event("k", 0, 300)).Line("Steps", gpu.Event("7", 0, 100) + gpu.Event("8", 100, 200));
  const Read alone = ReadBytes(gpu.Encoded());
  ASSERT_TRUE(alone.profile);
  ASSERT_EQ(alone.profile->steps.size(), 2U);
  EXPECT_EQ(alone.profile->steps[1].number, 8);
  Plane host("/host:CPU");
  host.Line("t", host.Event("train", 0, 90, host.Stat("step_num", 1)));
  const Read both = ReadBytes(gpu.Encoded() + host.Encoded());
  ASSERT_TRUE(both.profile);
  ASSERT_EQ(both.profile->steps.size(), 1U);
  EXPECT_EQ(both.profile->steps[0].number, 1);
}

TEST(XplaneTest, CountsAndNamesWhatItDoesNotUse) {
  Plane gpu("/device:GPU:0");
  gpu.Line("Stream #1", gpu.Event("k", 5, -2) + gpu.Event("long", 0, 700'000'000'000'000) +
                            Bytes(4, Number(1, 1) + Number(5, 12)) + Bytes(4, Number(1, 1) + Number(2, 1500)))
      .Line("New Line", gpu.Event("k", 0, 1) + gpu.Event("k", 1, 1));
  Plane tpu("/device:TPU:0");
  tpu.Line("XLA Ops", tpu.Event("k", 0, 1));
  Plane other("/something:new");
  other.Line("a", other.Event("k", 0, 1));
  Plane about("/host:metadata");
  about.Line("a", about.Event("k", 0, 1));
  const Read read = ReadBytes(gpu.Encoded() + tpu.Encoded() + other.Encoded() + about.Encoded() +
                              Bytes(3, "GPU tracer dropped 12 events on host secret") + Bytes(4, "secret"));
  ASSERT_TRUE(read.profile) << read.profile.error().message;
  EXPECT_EQ(read.quality.CountOf(QualityId::kUnknownEvent), 4);
  EXPECT_EQ(read.quality.Get(QualityId::kUnknownEvent).names,
            (std::set<std::string>{"/something:new", "New Line", "events without times"}));
  EXPECT_EQ(read.quality.CountOf(QualityId::kNegativeDuration), 1);
  EXPECT_EQ(read.quality.CountOf(QualityId::kLongDuration), 1);
  EXPECT_EQ(read.quality.CountOf(QualityId::kRoundedTime), 1);
  EXPECT_EQ(read.quality.Get(QualityId::kProfilerWarning).names, std::set<std::string>{"dropped"});
  EXPECT_EQ(read.profile->foreign_accelerators, std::vector<std::string>{"/device:TPU:0"});
  EXPECT_TRUE(read.profile->events_missing);
  EXPECT_EQ(read.profile->devices[0].events.size(), 2U);
}

// Byte for byte by the wire format: a plane named "/device:GPU:0" with "Stream #1", one event of 2 us at 1 us.
// The profiles of two hosts put together: their devices have one number, and are taken as one, which is said.
TEST(XplaneTest, CountsADeviceNumberThatTwoPlanesHave) {
  const Read twice = ReadBytes(Gpu().Encoded() + Gpu().Encoded());
  ASSERT_TRUE(twice.profile) << twice.profile.error().message;
  EXPECT_EQ(twice.quality.CountOf(QualityId::kSharedDeviceNumber), 1);
  EXPECT_EQ(ReadBytes(Gpu().Encoded()).quality.CountOf(QualityId::kSharedDeviceNumber), 0);
}

TEST(XplaneTest, ReadsBytesWrittenByHand) {
  const std::string bytes(
      "\x0A\x33"
      "\x12\x0D/device:GPU:0"
      "\x1A\x19"
      "\x12\x09Stream #1"
      "\x18\x64"
      "\x22\x0A\x08\x05\x10\xC0\x84\x3D\x18\x80\x89\x7A"
      "\x22\x07"
      "\x08\x05\x12\x03\x12\x01k",
      53);
  const Read read = ReadBytes(bytes);
  ASSERT_TRUE(read.profile) << read.profile.error().message;
  ASSERT_EQ(read.profile->devices.size(), 1U);
  const DeviceEvent& event = read.profile->devices[0].events.at(0);
  EXPECT_EQ(event.start_ns, 1100);
  EXPECT_EQ(event.end_ns, 3100);
  EXPECT_EQ(read.profile->names[event.name], "k");
}

TEST(XplaneTest, KnowsItsFormat) {
  EXPECT_TRUE(SniffXplane(Gpu().Encoded()));
  EXPECT_TRUE(SniffXplane(Plane("/host:CPU").Encoded()));
  EXPECT_TRUE(SniffXplane(Bytes(1, Bytes(2, "Task Environment"))));
  for (const char* other : {"", "\n", "\n\x12", "\nname,value\n", "{}",
                            "\x0A\x05\x12\x03"
                            "abc"}) {
    EXPECT_FALSE(SniffXplane(other)) << other;
  }
}

TEST(XplaneTest, ACutFileIsAnErrorOfOneLine) {
  const std::string bytes = Gpu().Encoded() + Bytes(3, "warning");
  const std::size_t first = Gpu().Encoded().size();
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    if (size == first) continue;
    const Read read = ReadBytes(bytes.substr(0, size));
    ASSERT_FALSE(read.profile) << size;
    EXPECT_EQ(read.profile.error().message.find("job.xplane.pb: the profile is damaged or cut off"), 0U);
  }
  EXPECT_TRUE(ReadBytes(bytes.substr(0, first)).profile);
  EXPECT_EQ(ReadBytes("{\"not\": \"protobuf\"}").profile.error().message,
            "job.xplane.pb: the profile is damaged or cut off at byte 0; copy it again or record it again");
}

}  // namespace
}  // namespace idleburn
