#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "profile/profile_importers.h"
#include "profile/trace_reader.h"
#include "support/call_time.h"
#include "text/line_reader.h"

namespace idleburn {
namespace {

struct Outcome {
  Profile profile;
  DataQuality quality;
  std::string error;
};

Outcome ReadTrace(const std::string& text, TraceLimits limits = {}) {
  Outcome run;
  StringSource in(text, "trace.json");
  Result<Profile> profile = ReadKineto(in, run.quality, limits);
  if (profile) run.profile = std::move(*profile);
  if (!profile) run.error = profile.error().message;
  return run;
}

// A complete entry of process 1, thread 2.
std::string Entry(const std::string& category, const std::string& name, const std::string& time,
                  const std::string& duration, const std::string& arguments = "", const std::string& process = "1",
                  const std::string& thread = "2") {
  return R"({"ph": "X", "cat": ")" + category + R"(", "name": ")" + name + R"(", "pid": )" + process + R"(, "tid": )" +
         thread + R"(, "ts": )" + time + R"(, "dur": )" + duration + R"(, "args": {)" + arguments + "}}";
}

std::string Trace(const std::vector<std::string>& entries, const std::string& header = "") {
  std::string text = "{" + header + "\"traceEvents\": [";
  for (const std::string& entry : entries) text += "\n" + entry + ",";
  text.back() = '\n';
  return text + "]}";
}

std::string Launch(int correlation, const std::string& process = "1") {
  return Entry("cuda_runtime", "cudaLaunchKernel", "1", "2", "\"correlation\": " + std::to_string(correlation),
               process);
}
std::string Kernel(int correlation, const std::string& device = "0") {
  return Entry("kernel", "sgemm", "5", "4",
               "\"device\": " + device + ", \"stream\": 7, \"correlation\": " + std::to_string(correlation), device,
               "7");
}

TEST(KinetoTraceTest, PutsEveryKindOfEntryWhereItBelongs) {
  const Outcome run = ReadTrace(Trace({
      Entry("kernel", "sgemm", "10", "2.5", R"("device": 3, "stream": 20, "correlation": 17)", "3", "20"),
      Entry("Memcpy", "Memcpy HtoD (Pinned -> Device)", "13", "1", R"("device": 3, "stream": 21, "bytes": 4096)", "3"),
      Entry("gpu_memset", "Memset (Device)", "14", "1", R"("bytes": 64)", "3", "\"stream 22\""),
      Entry("cuda_runtime", "cudaLaunchKernel", "8", "1", R"("cbid": 211, "correlation": 17)"),
      Entry("Runtime", "cudaDeviceSynchronize", "20", "3"),
      Entry("cpu_op", "aten::item", "30", "4"),
      Entry("Operator", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "40", "5"),
      Entry("user_annotation", "ProfilerStep#4", "0", "50"),
      Entry("gpu_user_annotation", "ProfilerStep#4", "0", "90", "", "3"),
      Entry("gpu_user_annotation", "enumerate(DataLoader)#x.__next__", "0", "90", "", "3"),
      Entry("python_function", "train.py(3): DataLoader.__next__", "0", "60"),
      Entry("cuda_sync", "Stream Synchronize", "0", "99", R"("device": 3)", "3"),
      Entry("overhead", "CUPTI buffer", "1", "6", "", "-1"),
      R"({"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "ts": 5})",
      R"({"ph": "s", "cat": "ac2g", "id": 17, "ts": 8})",
      R"({"ph": "M", "name": "process_name", "args": {"name": "python"}})",
  }));
  const Profile& p = run.profile;
  EXPECT_EQ(p.events_total, 16);
  ASSERT_EQ(p.devices.size(), 1U);
  EXPECT_EQ(p.devices[0].id, 3);
  const std::vector<DeviceEvent>& events = p.devices[0].events;
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].op, DeviceOp::kKernel);
  EXPECT_EQ(events[0].start_ns, 10000);
  EXPECT_EQ(events[0].end_ns, 12500);
  EXPECT_EQ(events[0].correlation, 17);
  EXPECT_EQ(events[0].stream, 20U);
  EXPECT_EQ(p.names[events[0].name], "sgemm");
  EXPECT_EQ(events[1].op, DeviceOp::kMemcpy);
  EXPECT_EQ(events[1].copy, CopyKind::kHtoD);
  EXPECT_EQ(events[1].from, MemoryKind::kPinned);
  EXPECT_EQ(events[1].bytes, 4096);
  EXPECT_EQ(events[1].correlation, kNoCorrelation);
  EXPECT_EQ(events[2].op, DeviceOp::kMemset);
  EXPECT_EQ(events[2].stream, 22U);
  ASSERT_EQ(p.calls.size(), 2U);
  EXPECT_EQ(p.calls[0].correlation, 17);
  EXPECT_EQ(p.calls[0].kind, CallKind::kLaunchKernel);
  EXPECT_EQ(p.calls[1].kind, CallKind::kSync);
  EXPECT_EQ(test::CallNs(p, CallKind::kSync), 3000);
  EXPECT_EQ(p.host.scalar_read.TotalNs(), 4000);
  EXPECT_EQ(p.host.dataloader.TotalNs(), 5000);
  EXPECT_EQ(p.dataloader_events, 1);
  EXPECT_EQ(p.host.cpu_op.TotalNs(), 9000);
  EXPECT_EQ(p.host.overhead.TotalNs(), 6000);
  ASSERT_EQ(p.steps.size(), 1U);
  EXPECT_EQ(p.steps[0].number, 4);
  EXPECT_EQ(p.steps[0].end_ns, 50000);
  ASSERT_EQ(p.frames.size(), 3U);
  EXPECT_TRUE(p.frames[0].python);
  EXPECT_EQ(p.threads[p.calls[0].thread], "1:2");
  EXPECT_EQ(p.calls[0].thread, p.frames[0].thread);
  EXPECT_FALSE(p.events_missing);
  for (const QualityInfo& info : kQualityTable) EXPECT_EQ(run.quality.CountOf(info.id), 0) << info.name;
}

TEST(KinetoTraceTest, ReadsTheSameNumbersAsTextOrNot) {
  const std::string plain = Entry("kernel", "k", "10", "2", R"("device": 1, "stream": 7, "correlation": 5)", "1", "7");
  const std::string quoted = R"({"args": {"correlation": "5", "stream": "7.0", "device": "1"}, "dur": "2", "tid": "7",
      "ts": "10", "pid": "1", "name": "k", "cat": "Kernel", "ph": "X"})";
  const Outcome one = ReadTrace(Trace({plain}));
  ASSERT_EQ(one.profile.devices.size(), 1U);
  EXPECT_EQ(one.profile.devices[0].events[0].correlation, 5);
  EXPECT_EQ(one.profile, ReadTrace(Trace({quoted})).profile);
  EXPECT_EQ(one.profile, ReadTrace("[" + quoted + "]").profile);
}

TEST(KinetoTraceTest, TakesDoubtfulTimesAsTheTableSays) {
  const Outcome run = ReadTrace(Trace({
      Entry("kernel", "a", "1712195495519761.132", "-5"),
      Entry("kernel", "b", "1712195495519762", "604800000000"),
      Entry("kernel", "c", "1712195495519763", "604800000000.001"),
      Entry("kernel", "d", "1712195495519764", "1.00051"),
      Entry("kernel", "e", "NaN", "1"),
      Entry("kernel", "f", "1", "null"),
      R"({"ph": "X", "cat": "kernel", "name": "g", "pid": 0, "tid": 7, "ts": 1})",
  }));
  ASSERT_EQ(run.profile.devices.size(), 1U);
  const std::vector<DeviceEvent>& events = run.profile.devices[0].events;
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].start_ns, 1712195495519761132);
  EXPECT_EQ(events[0].end_ns, 1712195495519761132);
  EXPECT_EQ(events[1].end_ns - events[1].start_ns, kLongestEventNs);
  EXPECT_EQ(events[2].end_ns - events[2].start_ns, 1001);
  EXPECT_EQ(run.quality.CountOf(QualityId::kNegativeDuration), 1);
  EXPECT_EQ(run.quality.CountOf(QualityId::kLongDuration), 1);
  EXPECT_EQ(run.quality.CountOf(QualityId::kRoundedTime), 1);
  EXPECT_EQ(run.quality.CountOf(QualityId::kBadRow), 3);
}

// Two such times would be further apart than 64 bits of nanoseconds reach.
TEST(KinetoTraceTest, ADamagedTimeCostsItsEventOnly) {
  const Outcome run = ReadTrace(Trace({
      Entry("kernel", "early", "-4611686018427387.904", "1"),
      Entry("kernel", "a", "10", "2"),
      Entry("kernel", "b", "20", "2"),
      Entry("kernel", "late", "4611686018427387.904", "1"),
      Entry("kernel", "ends late", "2305843009213693.952", "1"),
  }));
  ASSERT_EQ(run.profile.devices.size(), 1U);
  const std::vector<DeviceEvent>& events = run.profile.devices[0].events;
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].start_ns, 10'000);
  EXPECT_EQ(events[1].end_ns, 22'000);
  EXPECT_EQ(run.quality.CountOf(QualityId::kBadRow), 3);
}

TEST(KinetoTraceTest, PairsBeginsWithEndsOnTheirThread) {
  const auto mark = [](const char* phase, const char* thread, const char* time, const char* rest = "") {
    return std::string(R"({"ph": ")") + phase + R"(", "pid": 1, "tid": )" + thread + R"(, "ts": )" + time + rest + "}";
  };
  const Outcome run = ReadTrace(Trace({
      mark("B", "1", "0", R"(, "cat": "cpu_op", "name": "outer")"),
      mark("B", "2", "1", R"(, "cat": "user_annotation", "name": "ProfilerStep#1")"),
      mark("B", "1", "2", R"(, "cat": "kernel", "name": "k", "args": {"device": 0, "correlation": 9})"),
      mark("E", "1", "5"),
      mark("E", "1", "10"),
      mark("E", "1", "11"),  // no begin
      mark("E", "2", "20"),
      mark("B", "3", "30", R"(, "cat": "cpu_op", "name": "never ends")"),
  }));
  ASSERT_EQ(run.profile.devices.size(), 1U);
  EXPECT_EQ(run.profile.devices[0].events[0].start_ns, 2000);
  EXPECT_EQ(run.profile.devices[0].events[0].end_ns, 5000);
  EXPECT_EQ(run.profile.devices[0].events[0].correlation, 9);
  EXPECT_EQ(run.profile.host.cpu_op.TotalNs(), 10000);
  ASSERT_EQ(run.profile.steps.size(), 1U);
  EXPECT_EQ(run.profile.steps[0].end_ns - run.profile.steps[0].start_ns, 19000);
  EXPECT_EQ(run.quality.CountOf(QualityId::kUnpairedRange), 2);
}

TEST(KinetoTraceTest, NamesTheMostFrequentUnknownKindAndForeignDevices) {
  const Outcome run = ReadTrace(Trace({
      Entry("brand_new", "x", "1", "1"),
      Entry("other_new", "x", "1", "1"),
      Entry("brand_new", "x", "2", "1"),
      Entry("hpu_op", "y", "1", "1"),
      Entry("mtia_ccp_events", "z", "1", "1"),
      Entry("hpu_op", "y", "1", "1"),
      R"({"ph": "C", "cat": "mtia_counters", "name": "c", "ts": 1, "args": {"value": 3}})",
  }));
  EXPECT_EQ(run.quality.CountOf(QualityId::kUnknownEvent), 3);
  EXPECT_EQ(run.quality.Get(QualityId::kUnknownEvent).names, std::set<std::string>{"brand_new"});
  EXPECT_EQ(run.profile.foreign_accelerators, (std::vector<std::string>{"hpu_op", "mtia_ccp_events", "mtia_counters"}));
  EXPECT_TRUE(run.profile.devices.empty());
}

TEST(KinetoTraceTest, ReadsOnlyAllowedHeaders) {
  const Outcome run =
      ReadTrace(Trace({Kernel(1, "2")}, R"("schemaVersion": 1, "username": "alice", "host_name": "gpu17",
      "deviceProperties": [{"id": 2, "name": "Tesla \"V\"", "totalGlobalMem": 34084028416, "numSms": 80}, {"id": 5}],
      "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8, "pg_config": [{"rank": 9}],
                          "nccl_version": "2.17.1", "job": "secret"},
      "cuda_runtime_version": 12040, "roctracer_version": 4.1, "baseTimeNanoseconds": 1711964646000000000,
      "trace_id": "B482", "metadata": {"rank": 77},)"));
  const Profile& p = run.profile;
  EXPECT_EQ(
      p.facts,
      (std::map<std::string, std::string>{
          {"schema", "1"}, {"backend", "nccl"}, {"nccl", "2.17.1"}, {"cuda_runtime", "12040"}, {"roctracer", "4.1"}}));
  EXPECT_EQ(p.rank, 3);
  EXPECT_EQ(p.world_size, 8);
  EXPECT_EQ(p.wall_base_ns, 1711964646000000000);
  ASSERT_EQ(p.devices.size(), 1U);
  EXPECT_EQ(p.devices[0].model, "Tesla \"V\"");
  EXPECT_EQ(p.devices[0].memory_bytes, 34084028416);
  EXPECT_EQ(p.file, "trace.json");
}

TEST(KinetoTraceTest, RelatesTimesToTheWallClock) {
  EXPECT_EQ(ReadTrace(Trace({Entry("kernel", "k", "1712195495519761.132", "1")})).profile.wall_base_ns, 0);
  EXPECT_EQ(ReadTrace(Trace({Entry("kernel", "k", "4458676522690.655", "1")})).profile.wall_base_ns, std::nullopt);
  const std::vector<std::string> entry = {Entry("kernel", "k", "5", "1")};
  EXPECT_EQ(ReadTrace(Trace(entry, R"("baseTimeNanoseconds": 1712195495519761132, )")).profile.wall_base_ns,
            1712195495519761132);
  // So late that sums with it could overflow.
  EXPECT_EQ(ReadTrace(Trace(entry, R"("baseTimeNanoseconds": 9223372036854775807, )")).profile.wall_base_ns,
            std::nullopt);
}

TEST(KinetoTraceTest, KeepsTheMostThatTheAllocatorHeld) {
  const auto mark = [](const std::string& type, const std::string& device, const std::string& reserved) {
    return R"({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 2, "ts": 5,
               "args": {"Total Reserved": )" +
           reserved + R"(, "Total Allocated": 5, "Bytes": -8, "Device Id": )" + device + ", \"Device Type\": " + type +
           "}}";
  };
  const Outcome run = ReadTrace(Trace({Kernel(1), mark("1", "0", "70"), mark("6", "0", "90"), mark("1", "0", "80"),
                                       mark("0", "-1", "999"), mark("1", "3", "500")}));
  ASSERT_EQ(run.profile.devices.size(), 1U);
  EXPECT_EQ(run.profile.devices[0].most_reserved_bytes, 90);
  EXPECT_EQ(ReadTrace(Trace({Kernel(1)})).profile.devices[0].most_reserved_bytes, std::nullopt);
}

TEST(KinetoTraceTest, KeepsWhatIdentifiesACollective) {
  const std::string arguments = R"("device": 0, "stream": 40, "Collective name": "allreduce", "In msg nelems": 6637568,
      "Group size": 2, "dtype": "Float", "Process Group Name": "0", "Process Group Ranks": "[0, 1]")";
  const Outcome run =
      ReadTrace(Trace({Kernel(1), Entry("kernel", "ncclDevKernel_AllReduce", "20", "3", arguments),
                       Entry("kernel", "ncclKernel_AllReduce", "30", "3", arguments + ", \"Seq\": 12")}));
  ASSERT_EQ(run.profile.devices.size(), 1U);
  const ProfiledDevice& device = run.profile.devices[0];
  ASSERT_EQ(device.collectives.size(), 2U);
  EXPECT_EQ(device.collectives[0].event, 1U);
  EXPECT_EQ(device.events[1].op, DeviceOp::kComm);
  EXPECT_EQ(run.profile.names[device.collectives[0].operation], "allreduce");
  EXPECT_EQ(run.profile.names[device.collectives[0].group], "0");
  EXPECT_EQ(device.collectives[0].elements, 6637568);
  EXPECT_FALSE(device.collectives[0].sequence);
  EXPECT_EQ(device.collectives[1].sequence, 12);
}

TEST(KinetoTraceTest, TellsTheProcessesOfAMergedTraceApartOrSaysThatItCannot) {
  const Outcome apart =
      ReadTrace(Trace({Launch(1, "100"), Launch(2, "200"), Kernel(2, "1"), Kernel(1, "0"), Kernel(3, "0")}));
  EXPECT_TRUE(apart.profile.correlation_by_process);
  ASSERT_EQ(apart.profile.devices.size(), 2U);
  EXPECT_EQ(apart.profile.processes[apart.profile.devices[0].events[0].process], "100");
  EXPECT_EQ(apart.profile.processes[apart.profile.devices[1].events[0].process], "200");
  EXPECT_EQ(apart.quality.CountOf(QualityId::kAmbiguousLaunch), 0);

  const Outcome mixed = ReadTrace(Trace({Launch(1, "100"), Launch(1, "200"), Kernel(1, "0"), Kernel(1, "1")}));
  EXPECT_FALSE(mixed.profile.correlation_by_process);
  EXPECT_EQ(mixed.quality.CountOf(QualityId::kAmbiguousLaunch), 2);

  // Ids that collide without a device event of that id harm nobody.
  EXPECT_TRUE(ReadTrace(Trace({Launch(1, "100"), Launch(1, "200"), Launch(2, "100"), Kernel(2)}))
                  .profile.correlation_by_process);
}

// The first id stands at two calls, of which the first of the file launched; the second is that of every step.
TEST(KinetoTraceTest, AnIdThatIsUsedAgainAndAgainDoesNotSayWhoLaunched) {
  const std::string first = R"("correlation": 4)";
  const std::string second = R"("correlation": 5)";
  std::vector<std::string> entries = {Entry("cuda_runtime", "cudaLaunchKernel", "1", "2", first),
                                      Entry("cuda_runtime", "cudaLaunchKernel", "4", "2", first)};
  for (const char* at : {"20", "30", "40", "50"}) {
    entries.push_back(Entry("cuda_runtime", "cudaLaunchKernel", at, "5", second));
  }
  for (const int id : {4, 5, 6}) entries.push_back(Kernel(id));
  const Outcome run = ReadTrace(Trace(entries));
  const std::vector<DeviceEvent>& events = run.profile.devices.at(0).events;
  EXPECT_EQ(events[0].correlation, 4);
  EXPECT_EQ(events[1].correlation, kNoCorrelation);
  EXPECT_EQ(events[2].correlation, 6);
  EXPECT_EQ(run.quality.CountOf(QualityId::kAmbiguousLaunch), 1);
}

TEST(KinetoTraceTest, ADeviceThatIsNoNumberIsThatOfTheProcess) {
  EXPECT_EQ(ReadTrace(Trace({Entry("kernel", "k", "5", "4", R"("device": null)", "3")})).profile.devices.at(0).id, 3);
}

TEST(KinetoTraceTest, CountsADeviceNumberThatSeveralProcessesUse) {
  const std::string arguments = R"("device": 0, "stream": 7, "correlation": 1)";
  const Outcome run = ReadTrace(Trace({Entry("kernel", "a", "1", "1", arguments, "\"rank 0\""),
                                       Entry("kernel", "a", "1", "1", arguments, "\"rank 1\"")}));
  EXPECT_EQ(run.quality.Get(QualityId::kSharedDeviceNumber).names, std::set<std::string>{"0"});
  EXPECT_EQ(run.quality.CountOf(QualityId::kSharedDeviceNumber), 1);
}

TEST(KinetoTraceTest, NamesComeAsTheyWereMeant) {
  const Outcome run =
      ReadTrace(Trace({Entry("kernel", R"(k<\"a\">\u00e9\\)", "1", "1"), Entry("kernel", "raw\nline \xff", "3", "1")}));
  ASSERT_EQ(run.profile.devices.size(), 1U);
  EXPECT_EQ(run.profile.names[run.profile.devices[0].events[0].name], "k<\"a\">\xC3\xA9\\");
  EXPECT_EQ(run.profile.names[run.profile.devices[0].events[1].name], "raw\nline \xff");
}

TEST(KinetoTraceTest, SaysWhatACutTraceLost) {
  const std::string text = Trace({Kernel(1), Kernel(2)});
  const Outcome run = ReadTrace(text.substr(0, text.size() - 10));
  ASSERT_EQ(run.profile.devices.size(), 1U);
  EXPECT_EQ(run.profile.devices[0].events.size(), 1U);
  EXPECT_TRUE(run.profile.events_missing);
  EXPECT_EQ(run.quality.CountOf(QualityId::kLostBytes), static_cast<std::int64_t>(Kernel(2).size() + 3 - 10));
  EXPECT_EQ(run.quality.CountOf(QualityId::kUnclosedProfile), 1);
}

TEST(KinetoTraceTest, OnlyWhatIsNoTraceIsAnError) {
  for (const char* text : {"", "{}", "hello", R"({"schemaVersion": 1, "traceEvents": 7})"}) {
    const Outcome run = ReadTrace(text);
    EXPECT_NE(run.error.find("trace.json: holds no traceEvents"), std::string::npos) << text;
  }
  const Outcome empty = ReadTrace(R"({"traceEvents": []})");
  EXPECT_EQ(empty.error, "");
  EXPECT_TRUE(empty.profile.devices.empty());
}

TEST(KinetoTraceTest, KnowsATraceByItsHead) {
  EXPECT_TRUE(SniffKineto("\n{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": ["));
  EXPECT_TRUE(SniffKineto(R"({"traceEvents": [)"));
  EXPECT_TRUE(SniffKineto("[ {\"name\": \"x\", \"ph\": \"X\""));
  for (const char* head : {"", " ", "{", "[{\"metric\": 1}]", "timestamp, index, \"traceEvents\"", "SQLite format 3"}) {
    EXPECT_FALSE(SniffKineto(head)) << head;
  }
}

// Endless nesting, endless kinds: memory must not follow what a file makes up.
TEST(KinetoTraceTest, BoundsWhatAHostileTraceMayOpen) {
  std::string text = "[";
  for (int i = 0; i < 6000; ++i) {
    text += R"({"ph": "B", "cat": "c)" + std::to_string(i) + R"(", "pid": 1, "tid": 1, "ts": 1},)";
  }
  for (int i = 0; i < 6001; ++i) text += R"({"ph": "E", "pid": 1, "tid": 1, "ts": 2},)";
  const Outcome run = ReadTrace(text + "]");
  EXPECT_EQ(run.quality.CountOf(QualityId::kUnpairedRange), 6000 - 4096 + 1);
  EXPECT_EQ(run.quality.CountOf(QualityId::kUnknownEvent), 4096);
}

}  // namespace
}  // namespace idleburn
