#include "profile/xla_rows.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "profile/profile_importers.h"
#include "text/line_reader.h"

namespace idleburn {
namespace {

// As TensorFlow and JAX write it: names first, arguments as text, an empty object at the end.
constexpr const char* kTrace = R"json({"displayTimeUnit":"ns","metadata":{"highres-ticks":true},"traceEvents":[
{"ph":"M","pid":2,"name":"process_name","args":{"name":"/device:GPU:1"}},
{"ph":"M","pid":2,"name":"process_sort_index","args":{"sort_index":2}},
{"ph":"M","pid":2,"tid":14,"name":"thread_name","args":{"name":"Stream #14(Compute,MemcpyH2D)"
}
},
{"ph":"M","pid":2,"tid":4,"name":"thread_name","args":{"name":"XLA Ops"}},
{"ph":"M","pid":2,"tid":5,"name":"thread_name","args":{"name":"Steps"}},
{"ph":"M","pid":701,"name":"process_name","args":{"name":"/host:CPU"}},
{"ph":"M","pid":701,"tid":9,"name":"thread_name","args":{"name":"python3"}},
{"ph":"X","pid":2,"tid":14,"ts":100.5,"dur":2.25,"name":"fusion \"a\"","args":{"correlation_id":"41","group_id":"0"}},
{"ph":"X","pid":2,"tid":14,"ts":110,"dur":1,"name":"MemcpyH2D","args":{"correlation_id":"42",
"memcpy_details":"kind_src:pinned kind_dst:device size:64 dest:0 async:1"}},
{"ph":"X","pid":2,"tid":4,"ts":100.5,"dur":2.25,"name":"fusion"},
{"ph":"X","pid":2,"tid":5,"ts":90,"dur":30,"name":"0"},
{"ph":"X","pid":701,"tid":9,"ts":95.001,"dur":3,"name":"cudaLaunchKernel","args":{"correlation_id":"41"}},
{"ph":"X","pid":701,"tid":9,"ts":80,"dur":40,"name":"train","args":{"step_num":"6"}},
{"ph":"X","pid":701,"tid":9,"ts":81,"dur":5,"name":"$a.py:3 f"},
{"ph":"X","pid":701,"tid":9,"ts":"none","dur":5,"name":"no time"},
{"ph":"X","pid":33,"tid":1,"ts":1,"dur":1,"name":"of nobody"},{}]
})json";

TEST(XlaTraceTest, ReadsPlanesAndLines) {
  StringSource in(kTrace, "t.trace.json");
  DataQuality quality;
  const Result<Profile> read = ReadXlaTrace(in, quality);
  ASSERT_TRUE(read) << read.error().message;
  const Profile& profile = *read;
  ASSERT_EQ(profile.devices.size(), 1U);
  EXPECT_EQ(profile.devices[0].id, 1);
  const auto& events = profile.devices[0].events;
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(profile.names[events[0].name], "fusion \"a\"");
  EXPECT_EQ(events[0].start_ns, 100'500);
  EXPECT_EQ(events[0].end_ns, 102'750);
  EXPECT_EQ(events[0].correlation, 41);
  EXPECT_EQ(events[0].stream, 14U);
  EXPECT_EQ(events[1].copy, CopyKind::kHtoD);
  EXPECT_EQ(events[1].from, MemoryKind::kPinned);
  EXPECT_EQ(events[1].bytes, 64);
  ASSERT_EQ(profile.calls.size(), 1U);
  EXPECT_EQ(profile.calls[0].kind, CallKind::kLaunchKernel);
  EXPECT_EQ(profile.calls[0].correlation, 41);
  EXPECT_EQ(profile.calls[0].start_ns, 95'001);
  ASSERT_EQ(profile.steps.size(), 1U);
  EXPECT_EQ(profile.steps[0].number, 6);
  ASSERT_EQ(profile.frames.size(), 1U);
  EXPECT_TRUE(profile.frames[0].python);
  EXPECT_EQ(quality.Get(QualityId::kUnknownEvent).names, std::set<std::string>{"a process without a name"});
  EXPECT_EQ(quality.CountOf(QualityId::kBadRow), 1);
  EXPECT_FALSE(profile.events_missing);
}

// Tools that sort events may put the names of processes and threads behind what they did.
TEST(XlaTraceTest, NamesMayStandBehindTheirEvents) {
  const std::string text(kTrace);
  const std::size_t names = text.find("{\"ph\":\"M\"");
  const std::size_t events = text.find("{\"ph\":\"X\"");
  const std::size_t end = text.rfind("{}]");
  const std::string behind =
      text.substr(0, names) + text.substr(events, end - events) + text.substr(names, events - names) + text.substr(end);
  const auto read = [](const std::string& trace, DataQuality& quality) {
    StringSource in(trace, "t.trace.json");
    return ReadXlaTrace(in, quality);
  };
  DataQuality first;
  DataQuality last;
  EXPECT_EQ(*read(text, first), *read(behind, last));
  EXPECT_EQ(last.Get(QualityId::kUnknownEvent).names, std::set<std::string>{"a process without a name"});
}

TEST(XlaTraceTest, IsToldFromATraceOfPyTorch) {
  EXPECT_TRUE(SniffXlaTrace(kTrace));
  EXPECT_TRUE(SniffKineto(kTrace));  // also a Chrome trace: this one is asked first
  EXPECT_FALSE(SniffXlaTrace(R"({"schemaVersion":1,"traceEvents":[{"ph":"M","name":"process_name","pid":7,
    "args":{"name":"python"}},{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":1}]})"));
  EXPECT_FALSE(SniffXlaTrace("\"/host:CPU\""));
}

TEST(XlaTraceTest, ACutTraceIsReadUpToTheCut) {
  const std::string text(kTrace);
  StringSource in(text.substr(0, text.find("{\"ph\":\"X\",\"pid\":701") + 30), "t.trace.json");
  DataQuality quality;
  const Result<Profile> read = ReadXlaTrace(in, quality);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->devices[0].events.size(), 2U);
  ASSERT_EQ(read->steps.size(), 1U);  // the device's, where the host's are lost
  EXPECT_EQ(read->steps[0].number, 0);
  EXPECT_TRUE(read->events_missing);
  EXPECT_EQ(quality.CountOf(QualityId::kUnclosedProfile), 1);
}

}  // namespace

}  // namespace idleburn
