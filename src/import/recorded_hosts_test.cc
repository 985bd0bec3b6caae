#include "import/recorded_hosts.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

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
            "a.idleburn and b.idleburn: both read GPU-1 at one time, on n1 and on n2; name their machines, "
            "NODE1=a.idleburn NODE2=b.idleburn, or one NODE for both if it is one, or leave out one of the two");
  // Two machines whose GPUs nobody has told apart, as where inputs are pipes.
  EXPECT_FALSE(Both({"n1", "x", 0, 100}, {"n2", "y", 0, 100}).Check({}).has_value());
}

}  // namespace
}  // namespace idleburn
