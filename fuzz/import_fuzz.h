#pragma once

#include <algorithm>
#include <string>

#include "base/result.h"
#include "import/importer.h"
#include "telemetry/sample.h"
#include "text/line_reader.h"

namespace idleburn {

// Checks what every importer promises of its samples, whatever the input.
class CountingSink final : public SampleSink {
 public:
  explicit CountingSink(const DeviceTable& devices) : devices_(devices) {}
  void OnSamples(std::span<const Sample> samples) override {
    count_ += samples.size();
    for (const Sample& sample : samples) {
      CHECK(sample.device < devices_.size());
      for (const SignalInfo& info : kSignals) {
        CHECK(!sample.Has(info.id) || InRange(info.unit, sample.Get(info.id)) == sample.Get(info.id));
      }
    }
  }
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  const DeviceTable& devices_;
  std::size_t count_ = 0;
};

// Feeds one input to an importer: it ends with a result or with an error of one line that can be shown.
inline int FuzzImport(bool (*sniff)(std::string_view), decltype(Importer::import) import, const unsigned char* data,
                      std::size_t size) {
  const std::string text(data, data + size);
  sniff(std::string_view(text).substr(0, kSniffBytes));
  DeviceTable devices;
  DataQuality quality;
  OwnerLedger owners;
  CountingSink sink(devices);
  ImportTarget target{devices, quality, owners, sink};
  StringSource source(text);
  const Result<void> result = import(source, ImportOptions{}, target);
  CHECK(result || (!result.error().message.empty() && result.error().message.find('\n') == std::string::npos));
  return 0;
}

}  // namespace idleburn
