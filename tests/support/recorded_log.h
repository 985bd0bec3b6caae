#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "os/input_file.h"
#include "support/live_log.h"
#include "telemetry/recording.h"

namespace idleburn::testing {

// All that a recording holds. The test fails if it is none.
struct RecordedLog {
  explicit RecordedLog(const std::string& path) {
    const auto source = OpenInput(path);
    if (!source) {
      ADD_FAILURE() << source.error().message;
      return;
    }
    const auto read = ReadRecording(**source, devices, quality, log);
    EXPECT_TRUE(read.has_value()) << path;
    if (read) closed = read->closed;
    if (read) start = read->header.start;
  }

  DeviceTable devices;
  DataQuality quality;
  LiveLog log;
  bool closed = false;
  Instant start;
};

}  // namespace idleburn::testing
