#pragma once

#include <string>
#include <utility>
#include <vector>

#include "import/importer.h"
#include "text/line_reader.h"

namespace idleburn::test {

// Runs one importer over text and keeps everything it delivers.
struct ImportRun : private SampleSink {
  using Function = Result<void> (*)(ByteSource&, const ImportOptions&, ImportTarget&);

  explicit ImportRun(Function import, std::string text, const ImportOptions& options = {}) {
    StringSource source(std::move(text), "input");
    ImportTarget target{devices, quality, owners, *this};
    result = import(source, options, target);
  }

  [[nodiscard]] std::vector<Sample> Of(DeviceId device) const {
    std::vector<Sample> own;
    for (const Sample& s : samples) {
      if (s.device == device) own.push_back(s);
    }
    return own;
  }
  [[nodiscard]] const std::string& Counter(DeviceId device, Signal signal) const {
    return devices[device].counter[Index(signal)];
  }

  Result<void> result;
  DeviceTable devices;
  DataQuality quality;
  OwnerLedger owners;
  std::vector<Sample> samples;

 private:
  void OnSamples(std::span<const Sample> batch) override { samples.insert(samples.end(), batch.begin(), batch.end()); }
};

}  // namespace idleburn::test
