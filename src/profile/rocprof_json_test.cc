#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "profile/profile_importers.h"
#include "profile/trace_reader.h"
#include "support/rocprof_file.h"
#include "text/line_reader.h"

namespace idleburn {
namespace {

using test::RocprofFile;

struct RocprofOutcome {
  Profile profile;
  DataQuality quality;
  std::string error;
};

RocprofOutcome ReadText(const std::string& text, TraceLimits limits = {}) {
  RocprofOutcome run;
  StringSource in(text, "results.json");
  Result<Profile> profile = ReadRocprof(in, run.quality, limits);
  if (profile) run.profile = std::move(*profile);
  if (!profile) run.error = profile.error().message;
  return run;
}

// A kernel on each GPU with its launch, copies in both directions, a set, and a range of ROCTX.
RocprofFile TwoGpus() {
  RocprofFile file;
  file.Marker("forward", 900, 2000, 50)
      .Call(0, 1000, 1010, 5)
      .Kernel(0, 1, 1020, 1100, 5)
      .Call(0, 1200, 1210, 6, 8)
      .Kernel(1, 2, 1220, 1300, 6)
      .Call(1, 1310, 1400, 7)
      .Copy(RocprofFile::kCpu, RocprofFile::Gpu(0), 4096, 1320, 1390, 7)
      .Copy(RocprofFile::Gpu(1), RocprofFile::kCpu, 512, 1500, 1510, 8)
      .Kernel(1, 4, 1600, 1620, 9);
  return file;
}

TEST(RocprofJsonTest, PutsEveryRecordWhereItBelongs) {
  const RocprofOutcome run = ReadText(TwoGpus().Text());
  const Profile& p = run.profile;
  EXPECT_EQ(run.error, "");
  EXPECT_EQ(p.kind, ProfilerKind::kRocprof);
  EXPECT_EQ(p.processes, std::vector<std::string>{"4711"});
  ASSERT_EQ(p.devices.size(), 2U);
  EXPECT_EQ(p.devices[0].id, 0);
  EXPECT_EQ(p.devices[0].model, "AMD Instinct MI300X");
  EXPECT_EQ(p.devices[1].id, 1);
  EXPECT_EQ(p.devices[1].model, "AMD gfx942");
  const std::vector<DeviceEvent>& first = p.devices[0].events;
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(p.names[first[0].name], "gemm(float*)");
  EXPECT_EQ(first[0].op, DeviceOp::kKernel);
  EXPECT_EQ(first[0].start_ns, 1020);
  EXPECT_EQ(first[0].end_ns, 1100);
  EXPECT_EQ(first[0].correlation, 5);
  EXPECT_EQ(first[0].stream, 3U);
  EXPECT_EQ(first[1].op, DeviceOp::kMemcpy);
  EXPECT_EQ(first[1].copy, CopyKind::kHtoD);
  EXPECT_EQ(first[1].bytes, 4096);
  const std::vector<DeviceEvent>& second = p.devices[1].events;
  ASSERT_EQ(second.size(), 3U);
  EXPECT_EQ(second[0].op, DeviceOp::kComm);
  EXPECT_EQ(second[1].op, DeviceOp::kMemset);
  EXPECT_EQ(p.names[second[1].name], "__amd_rocclr_fillBufferAligned");
  EXPECT_EQ(second[2].copy, CopyKind::kDtoH);
  ASSERT_EQ(p.calls.size(), 3U);
  EXPECT_EQ(p.calls[0].kind, CallKind::kLaunchKernel);
  EXPECT_EQ(p.calls[0].correlation, first[0].correlation);
  EXPECT_EQ(p.threads[p.calls[1].thread], "8");
  EXPECT_EQ(p.calls[2].kind, CallKind::kMemcpy);
  EXPECT_EQ(p.host.cpu_op.TotalNs(), 1100);
  ASSERT_EQ(p.scopes.size(), 1U);
  EXPECT_EQ(p.events_total, 9);
  EXPECT_FALSE(p.events_missing);
  for (const QualityInfo& info : kQualityTable) EXPECT_EQ(run.quality.CountOf(info.id), 0) << info.name;
}

// Tools rewrite JSON with sorted keys, and records then come before names. Windows may end anywhere.
TEST(RocprofJsonTest, ReadsTheSameInAnyOrderAndPieceByPiece) {
  const Profile whole = ReadText(TwoGpus().Text()).profile;
  Profile sorted = ReadText(TwoGpus().Text(true)).profile;
  ASSERT_EQ(sorted.devices.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(sorted.devices[i].events.size(), whole.devices[i].events.size());
    for (std::size_t at = 0; at < whole.devices[i].events.size(); ++at) {
      DeviceEvent event = sorted.devices[i].events[at];
      EXPECT_EQ(sorted.names[event.name], whole.names[whole.devices[i].events[at].name]);
      event.name = whole.devices[i].events[at].name;
      EXPECT_EQ(event, whole.devices[i].events[at]);
    }
  }
  EXPECT_EQ(sorted.calls, whole.calls);
  EXPECT_EQ(sorted.host, whole.host);
  for (const std::size_t window : {1U, 7U, 64U, 1000U}) {
    EXPECT_EQ(ReadText(TwoGpus().Text(), {window, 1U << 20}).profile, whole) << window;
  }
}

TEST(RocprofJsonTest, CopiesHaveTheDirectionOfTheirAgents) {
  const RocprofOutcome run = ReadText(RocprofFile()
                                          .Copy(20, 20, 1, 100, 110)
                                          .Copy(20, 30, 1, 200, 210)
                                          .Copy(10, 10, 1, 300, 310)
                                          .Copy(10, 99, 1, 400, 410)
                                          .Kernel(0, 3, 500, 510)
                                          .Text());
  ASSERT_EQ(run.profile.devices.size(), 1U);
  const std::vector<DeviceEvent>& events = run.profile.devices[0].events;
  ASSERT_EQ(events.size(), 3U);
  // The kernel of HIP names no direction.
  EXPECT_EQ(events[0].copy, CopyKind::kOther);
  EXPECT_EQ(events[0].op, DeviceOp::kMemcpy);
  EXPECT_EQ(events[1].copy, CopyKind::kDtoD);
  EXPECT_EQ(events[2].copy, CopyKind::kPtoP);
  EXPECT_EQ(run.quality.CountOf(QualityId::kBadRow), 1);  // to an agent that the file does not describe
}

TEST(RocprofJsonTest, UnknownMembersAreSkippedAndBadRecordsCounted) {
  RocprofFile file = TwoGpus();
  file.Raw("17").Raw(R"({"kind": 11, "start_timestamp": "x"})");
  file.Raw(R"({"start_timestamp": 0, "end_timestamp": 0, "dispatch_info": {"agent_id": {"handle": 20}}})");
  file.Raw(R"({"new_field": {"a": ["]", {}]}, "start_timestamp": "5000", "end_timestamp": "5010", "dispatch_info":
               {"agent_id": {"handle": 20}, "kernel_id": 77, "stream": [1, 2]}})");
  const RocprofOutcome run = ReadText(file.Text());
  EXPECT_EQ(run.quality.CountOf(QualityId::kBadRow), 3);
  ASSERT_EQ(run.profile.devices.size(), 2U);
  const std::vector<DeviceEvent>& events = run.profile.devices[0].events;
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[1].end_ns, 5010);
  EXPECT_EQ(events[1].name, kNoName);
  EXPECT_TRUE(run.profile.events_missing);
}

TEST(RocprofJsonTest, ACutFileIsReadToTheCut) {
  const std::string text = TwoGpus().Text();
  const std::size_t cut = text.find("\"hip_api\"");
  const RocprofOutcome run = ReadText(text.substr(0, cut));
  ASSERT_EQ(run.profile.devices.size(), 2U);
  EXPECT_EQ(run.profile.devices[0].events.size(), 1U);
  EXPECT_TRUE(run.profile.events_missing);
  EXPECT_EQ(run.quality.CountOf(QualityId::kUnclosedProfile), 1);
  for (std::size_t at = 0; at < text.size(); ++at) {
    const RocprofOutcome part = ReadText(text.substr(0, at));
    if (part.error.empty()) {
      EXPECT_TRUE(part.profile.events_missing || at + 1 >= text.size()) << at;
    } else {
      EXPECT_EQ(part.error,
                "results.json: holds no records of rocprofv3; record again with rocprofv3 --output-format json");
    }
  }
}

TEST(RocprofJsonTest, MarksAndPausesAreNoRangesAndStepsAreFound) {
  RocprofFile file;
  file.Marker("a mark", 10, 400, 90, 0);
  for (int step = 0; step < 6; ++step) {
    const std::int64_t at = 1000 + 1000 * step;
    file.Marker("train step " + std::to_string(step), at, at + 900, 100 + step);
    file.Call(0, at + 10, at + 20, 200 + step).Kernel(0, 1, at + 50, at + 500, 200 + step);
  }
  const Profile p = ReadText(file.Text()).profile;
  ASSERT_EQ(p.steps.size(), 6U);
  EXPECT_EQ(p.steps[5].start_ns, 6000);
  EXPECT_EQ(p.steps[5].number, 5);
  EXPECT_EQ(p.host.cpu_op.TotalNs(), 0);  // a step is no operator, and a mark no range
}

// Idle time may then be copies, so nothing may be proved by it.
TEST(RocprofJsonTest, SaysWhenCopiesWereNotRecorded) {
  RocprofFile file;
  file.Call(1, 100, 200, 4).Kernel(0, 1, 300, 400, 5);
  const RocprofOutcome run = ReadText(file.Text());
  EXPECT_TRUE(run.profile.events_missing);
  EXPECT_EQ(run.quality.CountOf(QualityId::kProfilerWarning), 1);
}

TEST(RocprofJsonTest, EntriesThatAreTooLongAreCounted) {
  RocprofFile file = TwoGpus();
  file.Raw(R"({"long": ")" + std::string(5000, 'x') + "\"}");
  for (const std::size_t window : {16U, 100000U}) {
    const RocprofOutcome run = ReadText(file.Text(), {window, 2048});
    EXPECT_EQ(run.quality.CountOf(QualityId::kTooLongEvent), 1) << window;
    ASSERT_EQ(run.profile.devices.size(), 2U);
    EXPECT_EQ(run.profile.devices[1].events.size(), 3U);
    EXPECT_EQ(run.profile.events_total, 10);
  }
}

TEST(RocprofJsonTest, OnlyItsFirstMemberMakesAFileOne) {
  EXPECT_TRUE(SniffRocprof(TwoGpus().Text()));
  EXPECT_TRUE(SniffRocprof("\n { \"rocprofiler-sdk-tool\" : {"));
  for (const char* other : {"", "{", "[", R"({"traceEvents": [{"name": "rocprofiler-sdk-tool"}]})",
                            R"({"schemaVersion": 1, "rocprofiler-sdk-tool": []})", R"({"rocprofiler-sdk-tools": 1})"}) {
    EXPECT_FALSE(SniffRocprof(other)) << other;
  }
  const Result<const ProfileImporter*> found = FindProfileImporter("x.json", TwoGpus().Text());
  ASSERT_TRUE(found && *found != nullptr);
  EXPECT_EQ((*found)->name, "rocprofv3 JSON");
}

}  // namespace
}  // namespace idleburn
