#include "import/host_watch.h"

#include <gtest/gtest.h>

#include "import/formats.h"
#include "support/collecting_sink.h"
#include "text/line_reader.h"

namespace idleburn {
namespace {

using testing::Collected;

constexpr const char* kUuid = "GPU-5f3a0001-4d1c-11ee-9a6b-000000000001";

// One series of utilization for each label, so many scrapes a minute apart from minute `from` on.
std::string Series(const std::string& label, int from, int scrapes) {
  std::string text;
  for (int i = 0; i < scrapes; ++i) {
    text += "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"" + std::string(kUuid) + "\"," + label + "} 50 " +
            std::to_string(1'780'000'000'000 + (from + i) * 60'000) + "\n";
  }
  return text;
}

std::string ErrorOf(const std::string& text, Collected& c) {
  StringSource in(text, "scrape.prom");
  const Result<void> done = ImportPrometheus(in, {}, c.target);
  return done ? "" : done.error().message;
}

TEST(HostWatchTest, OneUuidOnTwoHostsAtOnceIsRefused) {
  for (const char* name : {"hostname", "Hostname", "host"}) {
    for (const int scrapes : {1, 3, 600}) {
      const std::string label(name);
      Collected c;
      const std::string error =
          ErrorOf(Series(label + "=\"node1\"", 0, scrapes) + Series(label + "=\"node2\"", 0, scrapes), c);
      EXPECT_NE(error.find(std::string(kUuid) + " is on node1 and on node2 at the same time"), std::string::npos)
          << name << " " << scrapes << ": " << error;
    }
  }
}

TEST(HostWatchTest, ReplicasAndScrapeTargetsAndLongNamesAreOneGpu) {
  for (const auto& [a, b] :
       {std::pair("hostname=\"n1\",replica=\"a\"", "hostname=\"n1\",replica=\"b\""),
        std::pair("instance=\"10.0.0.1:9400\"", "instance=\"n1:9400\""),
        std::pair("Hostname=\"n1\"", "hostname=\"n1\""), std::pair("hostname=\"n1\"", "hostname=\"N1.example.com\"")}) {
    Collected c;
    EXPECT_EQ(ErrorOf(Series(a, 0, 30) + Series(b, 0, 30), c), "") << a;
    EXPECT_EQ(c.devices.size(), 1U) << a;
  }
}

// An exporter's pod starts again under another name; the old series goes on for the look-back of five minutes.
TEST(HostWatchTest, AHostThatChangesItsNameIsOneGpu) {
  Collected c;
  EXPECT_EQ(ErrorOf(Series("Hostname=\"dcgm-a\"", 0, 65) + Series("Hostname=\"dcgm-b\"", 60, 60), c), "");
  EXPECT_EQ(c.devices.size(), 1U);
  Collected both;
  EXPECT_NE(ErrorOf(Series("Hostname=\"dcgm-a\"", 0, 70) + Series("Hostname=\"dcgm-b\"", 60, 60), both), "");
}

TEST(HostWatchTest, ATableWithOneUuidOnTwoHostsIsRefused) {
  const auto error_of = [](const std::string& second) {
    const std::string row = std::string(",") + kUuid + ",50\n";
    StringSource in("time,host,uuid,util\n1780000000,node1" + row + "1780000001," + second + row, "t.csv");
    ImportOptions options;
    options.columns = {{"time", "time"}, {"host", "host"}, {"uuid", "uuid"}, {"util", "util:%"}};
    Collected c;
    const Result<void> done = ImportColumnsCsv(in, options, c.target);
    return done ? std::string() : done.error().message;
  };
  EXPECT_NE(error_of("node2").find("t.csv:3: " + std::string(kUuid) + " is on node1 and on node2"), std::string::npos)
      << error_of("node2");
  EXPECT_EQ(error_of("node1.example.com"), "");
}

struct Made {
  const char* host;
  const char* boot;
  int from, to;  // seconds
  bool said = false;
};

RecordedHosts Both(const Made& a, const Made& b) {
  RecordedHosts hosts;
  for (const auto& [made, file] : {std::pair(a, "a.idleburn"), std::pair(b, "b.idleburn")}) {
    const auto at = [](int s) { return Instant::FromNanos(s * kNanosPerSecond); };
    hosts.Add({file, made.host, made.said, made.boot, "GPU-1", at(made.from), at(made.to)});
  }
  return hosts;
}

enum class Answer { kOne, kMoved, kTwo, kRefused };

Answer AnswerOf(const Made& a, const Made& b) {
  const RecordedHosts hosts = Both(a, b);
  const std::set<std::string> twins = hosts.Twins();
  if (!hosts.Check(twins)) return Answer::kRefused;
  if (!twins.empty()) return Answer::kTwo;
  DataQuality quality;
  hosts.CountMoved(quality);
  return quality.CountOf(QualityId::kMovedGpu) > 0 ? Answer::kMoved : Answer::kOne;
}

// All that two recordings of one UUID may tell of their machines, and what it proves.
TEST(RecordedHostsTest, WhatTwoRecordingsOfOneUuidProve) {
  struct Case {
    const char* why;
    Made a, b;
    Answer want;
  };
  const Case cases[] = {
      {"two kernels at one time", {"n1", "x", 0, 100}, {"n2", "y", 0, 100}, Answer::kTwo},
      {"one kernel under two names", {"n1", "x", 0, 100}, {"n2", "x", 0, 100}, Answer::kOne},
      {"two names, and no word of the kernel", {"n1", "", 0, 100}, {"n2", "", 0, 100}, Answer::kRefused},
      {"one name on two kernels", {"n1", "x", 0, 100}, {"n1", "y", 50, 100}, Answer::kRefused},
      {"one machine", {"n1", "x", 0, 100}, {"n1", "x", 50, 100}, Answer::kOne},
      {"one machine by its long name", {"n1", "", 0, 100}, {"N1.example.org", "", 50, 100}, Answer::kOne},
      {"a recording that names no machine", {"n1", "x", 0, 100}, {"", "", 0, 100}, Answer::kOne},
      {"moved", {"n1", "x", 0, 100}, {"n2", "y", 200, 300}, Answer::kMoved},
      {"moved, by names alone", {"n1", "", 0, 100}, {"n2", "", 200, 300}, Answer::kMoved},
      {"moved, and the clocks differ", {"n1", "x", 0, 100}, {"n2", "y", 97, 300}, Answer::kMoved},
      {"a machine that started again", {"n1", "x", 0, 100}, {"n1", "y", 200, 300}, Answer::kOne},
      {"containers of one machine by turns", {"pod-1", "x", 0, 100}, {"pod-2", "x", 200, 300}, Answer::kOne},
      {"said to be two", {"n1", "", 0, 100, true}, {"n2", "", 0, 100, true}, Answer::kTwo},
      {"said to be one", {"n1", "x", 0, 100, true}, {"n1", "y", 0, 100, true}, Answer::kOne},
      {"a few readings at one time", {"n1", "x", 0, 4}, {"n2", "y", 1, 3}, Answer::kTwo},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(AnswerOf(c.a, c.b), c.want) << c.why;
    EXPECT_EQ(AnswerOf(c.b, c.a), c.want) << c.why << ", the other way";
  }
}

TEST(RecordedHostsTest, ARefusalSaysWhatSettlesIt) {
  const std::string error = Both({"n1", "", 0, 100}, {"n2", "", 0, 100}).Check({}).error().message;
  EXPECT_EQ(error,
            "a.idleburn and b.idleburn: both read GPU-1 at the same time, on n1 and on n2; name their machines, "
            "NODE1=a.idleburn NODE2=b.idleburn, give both one NODE if they are one machine, or leave one file out");
  // Two machines whose GPUs nobody has told apart, as where inputs are pipes.
  EXPECT_FALSE(Both({"n1", "x", 0, 100}, {"n2", "y", 0, 100}).Check({}).has_value());
}

}  // namespace

}  // namespace idleburn
