#include "import/host_watch.h"

#include <gtest/gtest.h>

#include "import/columns_csv.h"
#include "import/prometheus_metrics.h"
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

}  // namespace
}  // namespace idleburn
