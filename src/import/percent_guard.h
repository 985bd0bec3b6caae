#pragma once

#include <map>
#include <string>
#include <vector>

#include "import/importer.h"

namespace idleburn {

// Watches the fields of one input that count 0 to 100. On its way to the file such a field may have been divided by
// 100 (a recording rule, a spreadsheet): all of its values then look like 1 % at the most. nvidia-smi and DCGM count
// whole percents, so fractions that never exceed 1 are refused, and only 0 and 1 are a doubt that is shown. Where this
// is wrong, as of means of a GPU that idles, --unit percent says so. What --unit calls a ratio is multiplied by 100.
class PercentGuard final : public SampleSink {
 public:
  // All outlive it.
  PercentGuard(SampleSink& next, const DeviceTable& devices, const ImportOptions& options)
      : next_(next), devices_(devices), options_(options) {}

  void OnSamples(std::span<const Sample> samples) override;
  // Columns carry the unit that --columns gave them, and their importer asks for it itself.
  void OnColumns(const SampleColumns& columns) override { next_.OnColumns(columns); }
  // After the last sample of the input.
  Result<void> Check(const std::string& file, DataQuality& quality) const;

 private:
  struct Field {
    bool percent = false;  // it counts 0 to 100
    bool said = false;     // --unit names it, or all
    bool ratio = false;
    bool unit_written = false;  // the source writes its unit beside the values
    bool fraction = false;
    std::int64_t most = 0;  // micro-percent
  };
  Field& FieldOf(DeviceId device, Signal signal);
  [[nodiscard]] Field Describe(const std::string& counter, Signal signal) const;
  // Looks at the reading; true if it is to be multiplied.
  bool See(const Sample& sample, Signal signal);

  SampleSink& next_;
  const DeviceTable& devices_;
  const ImportOptions& options_;
  std::map<std::string, Field> fields_;  // by counter
  std::vector<std::uint32_t> settled_;   // by device: signals that need no second look
  std::vector<Sample> changed_;
};

}  // namespace idleburn
