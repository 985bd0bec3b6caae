#pragma once

#include <vector>

#include "import/importer.h"

namespace idleburn::testing {

// Keeps what an importer delivers, for tests.
struct Collected final : SampleSink {
  void OnSamples(std::span<const Sample> batch) override { samples.insert(samples.end(), batch.begin(), batch.end()); }

  DeviceTable devices;
  DataQuality quality;
  OwnerLedger owners;
  std::vector<Sample> samples;
  ImportTarget target{devices, quality, owners, *this};
};

}  // namespace idleburn::testing
