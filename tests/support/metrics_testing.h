#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "import/importer.h"
#include "places.h"
#include "telemetry/time_sorter.h"
#include "text/line_reader.h"

namespace idleburn {

// What an import left behind, for tests: samples in order of time.
struct Imported final : SampleSink {
  DeviceTable devices;
  DataQuality quality;
  OwnerLedger owners;
  std::vector<Sample> samples;
  std::string error;

  void OnSamples(std::span<const Sample> batch) override { samples.insert(samples.end(), batch.begin(), batch.end()); }

  [[nodiscard]] std::vector<std::int64_t> Values(Signal signal, DeviceId device) const {
    std::vector<std::int64_t> values;
    for (const Sample& s : samples) {
      if (s.device == device && s.Has(signal)) values.push_back(s.Get(signal));
    }
    return values;
  }
  [[nodiscard]] std::size_t Missing(Signal signal, Unobserved reason) const {
    std::size_t n = 0;
    for (const Sample& s : samples) n += s.Lacks(signal) && s.reason == reason ? 1U : 0U;
    return n;
  }
  [[nodiscard]] DeviceId ByUuid(std::string_view uuid) const {
    for (DeviceId id = 0; id < devices.size(); ++id) {
      if (devices[id].uuid == uuid && !devices[id].mig) return id;
    }
    ADD_FAILURE() << "no device " << uuid;
    return 0;
  }
};

using ImportFunction = Result<void> (*)(ByteSource&, const ImportOptions&, ImportTarget&);

inline std::unique_ptr<Imported> ImportText(ImportFunction import, std::string text,
                                            const ImportOptions& options = {}) {
  auto out = std::make_unique<Imported>();
  TimeSorter sorter(out->devices, out->quality);
  ImportTarget target{out->devices, out->quality, out->owners, sorter};
  StringSource source(std::move(text), "input");
  const Result<void> result = import(source, options, target);
  if (!result) out->error = result.error().message;
  const Result<void> sorted = sorter.Deliver(*out);
  EXPECT_TRUE(sorted);
  return out;
}

inline std::filesystem::path SharedData(std::string_view path) {
  return std::filesystem::path(IDLEBURN_ROOT) / ".." / "shared" / "data" / path;
}

inline std::string FileText(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace idleburn

// Skips the test where the reference data does not lie beside the checkout.
#define NEED_SHARED_DATA(path) \
  if (!std::filesystem::exists(SharedData(path))) GTEST_SKIP() << SharedData(path) << " is missing"
