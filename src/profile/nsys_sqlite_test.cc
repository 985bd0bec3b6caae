#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "os/input_file.h"
#include "profile/profile_importers.h"
#include "support/call_time.h"
#include "support/shared_data.h"
#include "support/sqlite_file.h"
#include "text/line_reader.h"

namespace idleburn {
namespace {

using test::QueryIntegers;
using test::SqliteFile;

struct Read {
  Result<Profile> profile;
  DataQuality quality;
};

Read ReadFile(const std::string& path) {
  Read read;
  Result<std::unique_ptr<ByteSource>> in = OpenInput(path);
  if (!in) {
    read.profile = tl::unexpected<Error>(in.error());
  } else {
    read.profile = ReadNsys(**in, read.quality);
  }
  return read;
}

Profile ReadGood(const std::string& sql, DataQuality* quality = nullptr) {
  const SqliteFile file(sql);
  Read read = ReadFile(file.path());
  EXPECT_TRUE(read.profile) << read.profile.error().message;
  if (quality != nullptr) *quality = read.quality;
  return read.profile ? std::move(*read.profile) : Profile();
}

// Global ids of process 7 and 8 of one machine.
constexpr std::int64_t Global(std::int64_t process, std::int64_t thread) {
  return (std::int64_t{1} << 48) + (process << 24) + thread;
}
std::string G(std::int64_t process, std::int64_t thread = 0) { return std::to_string(Global(process, thread)); }

constexpr const char* kStrings =
    "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
    "INSERT INTO StringIds VALUES (1, 'void gemm<float>(float*)'), (2, 'gemm'), (3, 'cudaLaunchKernel_v7000'),"
    "(4, 'ncclDevKernel_AllReduce'), (5, 'cudaMemcpyAsync_v3020'), (6, 'cudaStreamSynchronize_v3020'), (7, 'forward');";
// Of recent versions.
constexpr const char* kKernels =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, \"end\" INTEGER NOT NULL, deviceId INTEGER NOT "
    "NULL, contextId INTEGER, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid "
    "INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER, graphNodeId INTEGER);";
constexpr const char* kRuntime =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, \"end\" INTEGER NOT NULL, eventClass INTEGER, "
    "globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER);";
constexpr const char* kNvtx =
    "CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, \"end\" INTEGER, eventType INTEGER NOT NULL, text TEXT, "
    "globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);";

// One row of each kind, of process 7 and its thread 9.
std::string RecentExport() {
  return std::string(kStrings) + kKernels + kRuntime + kNvtx +
         "CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);"
         "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_VERSION', '2026.2.1.210'), ('EXPORT_SCHEMA_VERSION', "
         "'3.25.0'), ('EXPORT_HOST', 'secret');"
         "CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, totalMemory INTEGER);"
         "INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H100', 85899345920), (1, 'NVIDIA H100', 85899345920);"
         "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, \"end\" INTEGER, deviceId INTEGER, streamId INTEGER, "
         "correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);"
         "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, \"end\" INTEGER, deviceId INTEGER, streamId INTEGER, "
         "correlationId INTEGER, globalPid INTEGER, value INTEGER, bytes INTEGER);"
         "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, \"end\" INTEGER, deviceId INTEGER, streamId "
         "INTEGER, correlationId INTEGER, globalPid INTEGER, graphId INTEGER);"
         "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 200, 0, 1, NULL, 7, 11, " +
         G(7) +
         ", 1, 2, NULL, NULL),"
         "(200, 290, 0, 1, NULL, 8, 12, " +
         G(7) +
         ", 4, 4, NULL, NULL);"
         "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (300, 310, 0, 7, 13, " +
         G(7) +
         ", 4096, 1, 0, 2);"
         "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (310, 311, 0, 7, 14, " +
         G(7) +
         ", 0, 64);"
         "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (400, 900, 0, 7, 15, " +
         G(7) +
         ", 3);"
         "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (50, 60, 0, " +
         G(7, 9) + ", 11, 3, 0), (70, 80, 0, " + G(7, 9) + ", 13, 5, 0), (500, 600, 0, " + G(7, 9) +
         ", 16, 6, 0);"
         "INSERT INTO NVTX_EVENTS VALUES (40, 95, 59, 'aten::item, op_id = 3, sizes = [[]]', " +
         G(7, 9) + ", NULL, NULL, 0), (300, 400, 60, NULL, " + G(7, 9) + ", NULL, 7, 0), (1, NULL, 34, 'a mark', " +
         G(7, 9) +
         ", NULL, NULL, 0);"
         "CREATE TABLE PROFILER_OVERHEAD (start INTEGER, \"end\" INTEGER, overheadType INTEGER);"
         "INSERT INTO PROFILER_OVERHEAD VALUES (20, 30, 3), (600, 700, 7);"
         "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, \"end\" INTEGER, deviceId INTEGER);"
         "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (500, 600, 0);";
}

TEST(NsysTest, ReadsARecentExport) {
  const Profile profile = ReadGood(RecentExport());
  EXPECT_EQ(profile.profiler, "Nsight Systems 2026.2.1.210");
  EXPECT_EQ(profile.facts, (std::map<std::string, std::string>{{"nsys_schema", "3.25.0"}}));
  ASSERT_EQ(profile.devices.size(), 1U);
  const ProfiledDevice& device = profile.devices[0];
  EXPECT_EQ(device.model, "NVIDIA H100");
  EXPECT_EQ(device.memory_bytes, 85899345920);
  ASSERT_EQ(device.events.size(), 5U);
  EXPECT_EQ(profile.names[device.events[0].name], "void gemm<float>(float*)");
  EXPECT_EQ(device.events[0].stream, 7U);
  EXPECT_EQ(device.events[0].correlation, 11);
  EXPECT_EQ(profile.processes[device.events[0].process], "7");
  EXPECT_EQ(device.events[1].op, DeviceOp::kComm);
  const DeviceEvent& graph = device.events[2];
  EXPECT_EQ(graph.op, DeviceOp::kKernel);
  EXPECT_EQ(profile.names[graph.name], "CUDA graph");
  EXPECT_EQ(graph.end_ns - graph.start_ns, 500);
  const DeviceEvent& copy = device.events[3];
  EXPECT_EQ(copy.op, DeviceOp::kMemcpy);
  EXPECT_EQ(copy.copy, CopyKind::kHtoD);
  EXPECT_EQ(copy.from, MemoryKind::kPageable);
  EXPECT_EQ(copy.to, MemoryKind::kDevice);
  EXPECT_EQ(copy.bytes, 4096);
  EXPECT_EQ(device.events[4].op, DeviceOp::kMemset);
  EXPECT_EQ(device.events[4].bytes, 64);

  ASSERT_EQ(profile.calls.size(), 3U);
  EXPECT_EQ(profile.calls[0].kind, CallKind::kLaunchKernel);
  EXPECT_EQ(profile.calls[1].kind, CallKind::kMemcpy);
  EXPECT_EQ(profile.calls[2].kind, CallKind::kSync);
  EXPECT_EQ(profile.calls[0].process, device.events[0].process);
  EXPECT_EQ(profile.threads[profile.calls[0].thread], "9");
  EXPECT_EQ(test::CallNs(profile, CallKind::kSync), 100);
  EXPECT_EQ(profile.host.scalar_read.TotalNs(), 55);
  EXPECT_EQ(profile.host.cpu_op.TotalNs(), 155);
  EXPECT_EQ(profile.host.overhead.TotalNs(), 10);  // loading a module is CUDA's own
  ASSERT_EQ(profile.frames.size(), 2U);
  EXPECT_EQ(profile.names[profile.frames[0].name], "aten::item");
  EXPECT_EQ(profile.names[profile.frames[1].name], "forward");
  EXPECT_TRUE(profile.correlation_by_process);
  EXPECT_TRUE(profile.steps.empty());
  EXPECT_EQ(profile.events_total, 13);  // 5 of the device, 3 calls, 2 ranges, 2 overheads, 1 synchronization
}

constexpr const char* kBareKernels =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, \"end\" INTEGER, deviceId INTEGER, streamId INTEGER, "
    "correlationId INTEGER, shortName INTEGER); INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 200, 0, 7, 11, 2);";
std::string Launch(std::int64_t process, int correlation) {
  return "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (50, 60, 0, " + G(process, 1) + ", " +
         std::to_string(correlation) + ", 3, 0);";
}

TEST(NsysTest, WithoutProcessesIdsAreOneSpaceUnlessTheyCollide) {
  const std::string tables = std::string(kStrings) + kBareKernels + kRuntime;
  for (const bool collide : {false, true}) {
    const Profile profile = ReadGood(tables + Launch(7, 11) + Launch(8, collide ? 11 : 12));
    EXPECT_EQ(profile.correlation_by_process, !collide);
    ASSERT_EQ(profile.calls.size(), 2U);
    EXPECT_EQ(profile.calls[0].process, profile.devices[0].events[0].process);
    EXPECT_NE(profile.calls[1].process, profile.calls[0].process);
    EXPECT_EQ(profile.names[profile.devices[0].events[0].name], "gemm");
  }
  // A column of NULLs is no better than none.
  const Profile nulls = ReadGood(std::string(kStrings) + kKernels + kRuntime + Launch(7, 11) + Launch(8, 11) +
                                 "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 200, 0, 1, NULL, 7, 11, NULL, "
                                 "1, 2, NULL, NULL);");
  EXPECT_FALSE(nulls.correlation_by_process);
  EXPECT_EQ(nulls.devices[0].events[0].correlation, 11);
}

TEST(NsysTest, WithProcessesIdsMayRepeat) {
  const Profile profile = ReadGood(
      std::string(kStrings) + kKernels + kRuntime + Launch(7, 11) + Launch(8, 11) +
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 200, 0, 1, NULL, 7, 11, " + G(8) +
      ", 1, 2, NULL, NULL), (300, 400, 0, 1, NULL, 7, 12, NULL, 1, 2, NULL, NULL), (500, 600, 0, 1, NULL, 7, 0, " +
      G(8) + ", 1, 2, NULL, NULL);");
  EXPECT_TRUE(profile.correlation_by_process);
  const auto& events = profile.devices[0].events;
  EXPECT_EQ(events[0].process, profile.calls[1].process);
  EXPECT_NE(events[0].process, profile.calls[0].process);
  EXPECT_EQ(events[1].correlation, kNoCorrelation);  // whose call it is nobody knows
  EXPECT_EQ(events[2].correlation, kNoCorrelation);
}

std::string KernelOf(std::int64_t process, int device) {
  return "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 200, " + std::to_string(device) + ", 1, NULL, 7, 11, " +
         G(process) + ", 1, 2, NULL, NULL);";
}

// With CUDA_VISIBLE_DEVICES every process calls its GPU 0.
TEST(NsysTest, DevicesAreGpusNotTheNumbersOfAProcess) {
  const std::string tables = std::string(kStrings) + kKernels + KernelOf(7, 0) + KernelOf(8, 0);
  const std::string gpus =
      "CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT); INSERT INTO TARGET_INFO_GPU VALUES (4, 'A'), (5, 'B');"
      "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER);"
      "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES ";
  DataQuality quality;
  for (const std::string& map : {std::string("(4, 0, 7), (5, 0, 8);"), "(4, 0, " + G(7) + "), (5, 0, " + G(8) + ");"}) {
    const Profile known = ReadGood(tables + gpus + map, &quality);
    ASSERT_EQ(known.devices.size(), 2U) << map;
    EXPECT_EQ(known.devices[0].id, 4);
    EXPECT_EQ(known.devices[1].id, 5);
    EXPECT_EQ(known.devices[1].model, "B");
    EXPECT_FALSE(known.devices[0].memory_bytes);
    EXPECT_EQ(quality.CountOf(QualityId::kSharedDeviceNumber), 0);
  }

  const Profile unknown = ReadGood(tables, &quality);
  ASSERT_EQ(unknown.devices.size(), 1U);
  EXPECT_EQ(quality.CountOf(QualityId::kSharedDeviceNumber), 1);
}

// Of 100 bytes 60 are taken, 40 more, 40 given back, 35 taken: at most 100 at once. Memory of the host does not count.
TEST(NsysTest, KeepsTheMostOfAGpusMemoryThatProcessesHeld) {
  const std::string use =
      "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER, globalPid INTEGER, deviceId INTEGER, bytes INTEGER, "
      "memKind INTEGER, memoryOperationType INTEGER);";
  const std::string p = G(7);
  const Profile profile = ReadGood(RecentExport() + use + "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (40, " + p +
                                   ", 0, 35, 2, 0), (10, " + p + ", 0, 60, 2, 0), (30, " + p + ", 0, 40, 2, 1), (20, " +
                                   p + ", 0, 40, 2, 0), (15, " + p + ", 0, 900, 1, 0), (50, " + p +
                                   ", 0, NULL, 2, 0), (5, " + p + ", 0, 1000, 2, 1);");
  ASSERT_EQ(profile.devices.size(), 1U);
  EXPECT_EQ(profile.devices[0].most_reserved_bytes, 100);
  EXPECT_EQ(profile.devices[0].memory_bytes, 85'899'345'920);
  EXPECT_FALSE(ReadGood(RecentExport() + use).devices[0].most_reserved_bytes.has_value());
  const Profile older = ReadGood(RecentExport() +
                                 "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER, bytes INTEGER);"
                                 "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (1, 5);");
  EXPECT_FALSE(older.devices[0].most_reserved_bytes.has_value());  // without its columns it tells nothing
}

TEST(NsysTest, CountsRowsThatCannotBe) {
  DataQuality quality;
  const Profile profile =
      ReadGood(std::string(kStrings) + kBareKernels + kNvtx +
                   "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (300, 200, 0, 7, 1, 2), (NULL, 200, 0, 7, 1, 2),"
                   "(300, 'late', 0, 7, 1, 2), (300, 400, NULL, 7, 1, 2), (0, 700000000000000, 0, 7, 1, 2),"
                   "(-9223372036854775807, 9223372036854775807, 0, 7, 1, 2), (500, 600, 0, -1, 1, 99);"
                   "INSERT INTO NVTX_EVENTS VALUES (40, NULL, 59, 'never ends', 1, NULL, NULL, 0);",
               &quality);
  ASSERT_EQ(profile.devices.size(), 1U);
  ASSERT_EQ(profile.devices[0].events.size(), 3U);
  EXPECT_EQ(profile.devices[0].events[1].start_ns, profile.devices[0].events[1].end_ns);
  EXPECT_EQ(profile.devices[0].events[2].name, kNoName);  // a text that is not there
  EXPECT_EQ(quality.CountOf(QualityId::kNegativeDuration), 1);
  EXPECT_EQ(quality.CountOf(QualityId::kLongDuration), 1);
  EXPECT_EQ(quality.CountOf(QualityId::kBadRow), 4);
  EXPECT_EQ(quality.CountOf(QualityId::kUnpairedRange), 1);
  EXPECT_EQ(profile.events_total, 8);
}

TEST(NsysTest, FindsStepsAmongRanges) {
  std::string sql = std::string(kStrings) + kBareKernels + kRuntime + kNvtx;
  for (int i = 0; i < 3; ++i) {
    const std::string start = std::to_string(1000 * i);
    sql += "INSERT INTO NVTX_EVENTS VALUES (" + start + ", " + start + " + 900, 59, 'train step " + std::to_string(i) +
           "', " + G(7, 9) + ", NULL, NULL, 0);";
    sql += "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" + start + " + 10, " + start + " + 20, 0, " + G(7, 9) +
           ", 1, 3, 0);";
  }
  const Profile profile = ReadGood(sql);
  ASSERT_EQ(profile.steps.size(), 3U);
  EXPECT_EQ(profile.steps[2].number, 2);
  EXPECT_EQ(profile.steps[2].start_ns, 2000);
  EXPECT_EQ(profile.steps[2].end_ns, 2900);
  EXPECT_TRUE(profile.host.cpu_op.empty());  // a step is no operator
}

TEST(NsysTest, TellsWhatTheProfilerWarnedOf) {
  DataQuality quality;
  const Profile profile = ReadGood(std::string(kStrings) +
                                       "CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER, text TEXT);"
                                       "INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 'Not all CUDA events might have been "
                                       "collected.'), (2, 'host secret started')",
                                   &quality);
  EXPECT_EQ(quality.CountOf(QualityId::kProfilerWarning), 1);
  EXPECT_FALSE(profile.events_missing);
  EXPECT_TRUE(profile.devices.empty());
  EXPECT_TRUE(ReadGood(std::string(kStrings) + "CREATE TABLE DIAGNOSTIC_EVENT (text); INSERT INTO DIAGNOSTIC_EVENT "
                                               "VALUES ('CUPTI dropped 12 records')")
                  .events_missing);
}

TEST(NsysTest, SaysWhatAnotherDatabaseIs) {
  const SqliteFile file(
      "CREATE TABLE moz_places (a); CREATE TABLE b (a); CREATE TABLE c (a); CREATE TABLE d (a); "
      "CREATE TABLE \"e\nvil\" (a); CREATE TABLE f (a)");
  EXPECT_EQ(ReadFile(file.path()).profile.error().message,
            file.path() +
                ": is a SQLite database, but not from Nsight Systems (its tables: b, c, d, e?vil, f, ...); make "
                "one with: nsys export --type sqlite REPORT.nsys-rep");
}

TEST(NsysTest, ReadsStreamsAndCompressedFiles) {
  const SqliteFile file(std::string(kStrings) + kBareKernels);
  std::ifstream in(file.path(), std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  DataQuality quality;
  StringSource stream(bytes, "standard input");
  const Result<Profile> streamed = ReadNsys(stream, quality);
  ASSERT_TRUE(streamed) << streamed.error().message;
  EXPECT_EQ(streamed->file, "standard input");
  EXPECT_EQ(streamed->devices.size(), 1U);

  const std::string packed = file.path() + ".gz";
  ASSERT_EQ(std::system(("gzip -k '" + file.path() + "'").c_str()), 0);
  const Read unpacked = ReadFile(packed);
  ASSERT_TRUE(unpacked.profile) << unpacked.profile.error().message;
  EXPECT_EQ(unpacked.profile->devices.size(), 1U);
  std::filesystem::resize_file(packed, std::filesystem::file_size(packed) / 2);
  const Read cut = ReadFile(packed);
  ASSERT_FALSE(cut.profile);
  EXPECT_EQ(cut.profile.error().message.find(packed + ": the database is damaged or cut off"), 0U)
      << cut.profile.error().message;
}

// Changes every byte of the pages in turn, some at once: a result or one line, never more.
TEST(NsysTest, DamagedFilesEndInOneLine) {
  const SqliteFile file(std::string("PRAGMA page_size = 512;") + kStrings + kBareKernels + kRuntime + Launch(7, 11));
  std::ifstream in(file.path(), std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  int failed = 0;
  for (std::size_t at = 16; at < bytes.size(); at += 31) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
    DataQuality quality;
    StringSource stream(damaged, "damaged");
    const Result<Profile> profile = ReadNsys(stream, quality);
    if (profile) continue;
    ++failed;
    EXPECT_EQ(profile.error().message.find('\n'), std::string::npos);
    EXPECT_EQ(profile.error().message.find("damaged: "), 0U) << profile.error().message;
  }
  EXPECT_GT(failed, 5);
}

// Shared captures: expected.json has figures of another program.

nlohmann::json Expected(const std::string& id) {
  const std::optional<std::string> text = test::ReadShared("data/profiler_traces/expected.json");
  return text ? nlohmann::json::parse(*text)[id] : nlohmann::json();
}

double Ms(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

template <typename Chosen>
IntervalSet UnionOf(const ProfiledDevice& device, Chosen chosen) {
  std::vector<Interval> intervals;
  for (const DeviceEvent& event : device.events) {
    if (chosen(event)) intervals.push_back({event.start_ns, event.end_ns});
  }
  return IntervalSet::UnionOf(std::move(intervals));
}

// Idle time before the launch of what ended it began, by the plainest of means.
std::int64_t HostWaitNs(const Profile& profile, const ProfiledDevice& device) {
  std::map<std::pair<int, std::int64_t>, std::int64_t> launches;
  for (const HostCall& call : profile.calls) launches.try_emplace({call.process, call.correlation}, call.start_ns);
  std::vector<DeviceEvent> events = device.events;
  std::stable_sort(events.begin(), events.end(), [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  std::int64_t waited = 0;
  std::int64_t busy_until = events.front().start_ns;
  for (const DeviceEvent& event : events) {
    const auto launch = launches.find({event.process, event.correlation});
    if (event.start_ns > busy_until && launch != launches.end()) {
      waited += std::clamp(launch->second, busy_until, event.start_ns) - busy_until;
    }
    busy_until = std::max(busy_until, event.end_ns);
  }
  return waited;
}

void ExpectDevice(const Profile& profile, const ProfiledDevice& device, const nlohmann::json& expected) {
  const auto any = [](const DeviceEvent&) { return true; };
  const auto kernel = [](const DeviceEvent& e) { return e.op == DeviceOp::kKernel || e.op == DeviceOp::kComm; };
  const IntervalSet busy = UnionOf(device, any);
  const IntervalSet compute = UnionOf(device, [](const DeviceEvent& e) { return e.op == DeviceOp::kKernel; });
  const IntervalSet comm = UnionOf(device, [](const DeviceEvent& e) { return e.op == DeviceOp::kComm; });
  const std::int64_t span = busy.parts().back().end - busy.parts().front().start;
  EXPECT_NEAR(Ms(span), expected["span_ms"], 1e-3);
  EXPECT_NEAR(Ms(busy.TotalNs()), expected["busy_ms"], 1e-3);
  EXPECT_NEAR(Ms(compute.TotalNs()), expected["compute_ms"], 1e-3);
  EXPECT_NEAR(Ms(comm.TotalNs()), expected["comm_ms"], 1e-3);
  EXPECT_NEAR(Ms(Difference(comm, compute).TotalNs()), expected["exposed_comm_ms"], 1e-3);
  EXPECT_NEAR(Ms(HostWaitNs(profile, device)), expected["host_wait_ms"], 1e-3);
  std::vector<std::int64_t> durations;
  std::map<std::string, std::pair<int, std::int64_t>> copies;  // count, duration
  for (const DeviceEvent& event : device.events) {
    const std::int64_t duration = event.end_ns - event.start_ns;
    if (kernel(event)) durations.push_back(duration);
    if (event.op != DeviceOp::kMemcpy) continue;
    const bool to_device = event.copy == CopyKind::kHtoD && event.from == MemoryKind::kPageable;
    EXPECT_TRUE(to_device || (event.copy == CopyKind::kDtoD && event.from == MemoryKind::kDevice));
    auto& [count, all] = copies[to_device ? "HtoD src0 dst2" : "DtoD src2 dst2"];
    ++count;
    all += duration;
  }
  EXPECT_EQ(durations.size(), expected["kernels"].get<std::size_t>());
  EXPECT_EQ(copies.size(), expected["memcpy"].size());
  for (const auto& [kind, figures] : copies) {
    EXPECT_EQ(figures.first, expected["memcpy"][kind]["n"]);
    EXPECT_NEAR(Ms(figures.second), expected["memcpy"][kind]["ms"], 1e-3);
  }
}

class NsysCaptureTest : public ::testing::TestWithParam<const char*> {};

TEST_P(NsysCaptureTest, HasTheFiguresOfAnotherProgram) {
  const std::string id = GetParam();
  const std::string path = test::SharedPath("data/profiler_traces/" + id + ".sqlite").string();
  const nlohmann::json expected = Expected(id);
  if (expected.is_null()) GTEST_SKIP() << "no " << path;
  const Read read = ReadFile(path);
  ASSERT_TRUE(read.profile) << read.profile.error().message;
  const Profile& profile = *read.profile;
  EXPECT_EQ(QueryIntegers(path, "SELECT count(*) FROM sqlite_master WHERE type = 'table'")[0], expected["tables"]);

  ASSERT_EQ(profile.devices.size(), expected["devices"].size());
  for (const ProfiledDevice& device : profile.devices) {
    SCOPED_TRACE(device.id);
    ExpectDevice(profile, device, expected["devices"][std::to_string(device.id)]);
  }
  std::map<CallKind, std::pair<std::int64_t, std::int64_t>> calls;
  std::map<CallKind, std::pair<std::int64_t, double>> expected_calls;
  for (const HostCall& call : profile.calls) {
    ++calls[call.kind].first;
    calls[call.kind].second += call.end_ns - call.start_ns;
  }
  for (const auto& [name, figures] : expected["api"].items()) {
    expected_calls[CallKindOf(name)].first += figures["n"].get<std::int64_t>();
    expected_calls[CallKindOf(name)].second += figures["ms"].get<double>();
  }
  for (const auto& [kind, figures] : expected_calls) {
    if (kind == CallKind::kOther) continue;  // the file has only the largest of them
    EXPECT_EQ(calls[kind].first, figures.first);
    EXPECT_NEAR(Ms(calls[kind].second), figures.second, 1e-3);
  }
  EXPECT_EQ(profile.calls.size(), QueryIntegers(path, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME")[0]);
  std::vector<HostFrame> longest = profile.frames;
  std::sort(longest.begin(), longest.end(),
            [](const HostFrame& a, const HostFrame& b) { return a.end_ns - a.start_ns > b.end_ns - b.start_ns; });
  for (std::size_t i = 0; i < expected.value("nvtx_top", nlohmann::json::array()).size(); ++i) {
    const auto& row = expected["nvtx_top"][i];
    EXPECT_EQ(profile.names[longest[i].name] + ",",
              row[0].get<std::string>().substr(0, row[0].get<std::string>().find(" op_id")));
    EXPECT_NEAR(Ms(longest[i].end_ns - longest[i].start_ns), row[2], 1e-3);
  }
  EXPECT_TRUE(profile.steps.empty());  // PyTorch's operators only, or no ranges at all
  EXPECT_EQ(read.quality.CountOf(QualityId::kBadRow), 0);
}
INSTANTIATE_TEST_SUITE_P(Shared, NsysCaptureTest, ::testing::Values("D08_nsys_mfu_before", "D09_nsys_healthy_min"));

}  // namespace
}  // namespace idleburn
