#pragma once

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "import/importer.h"
#include "import/metric_table.h"

namespace idleburn {

// Hands single readings on as samples, in batches; doubtful ones are counted and become `unavailable`.
class ReadingWriter {
 public:
  explicit ReadingWriter(ImportTarget& out) : out_(out) { batch_.reserve(kBatch); }
  ReadingWriter(const ReadingWriter&) = delete;
  ReadingWriter& operator=(const ReadingWriter&) = delete;
  ~ReadingWriter() { Flush(); }

  // Two counters of one signal must not mix in one device's distribution. Where nothing sorts and chooses behind the
  // importer, the first field to claim a signal is its source, the others are refused.
  bool Claim(DeviceId device, Signal signal, std::string_view field, std::string_view counter);
  // The readings of `signal` that follow are of that counter.
  void Use(DeviceId device, Signal signal, const std::string& counter);
  void Put(Instant time, DeviceId device, Signal signal, const Reading& reading, Place place);
  void PutUnavailable(Instant time, DeviceId device, Signal signal, Unobserved reason);
  void PutSample(const Sample& sample);

 private:
  static constexpr std::size_t kBatch = 256;
  void Flush();

  ImportTarget& out_;
  std::vector<Sample> batch_;
  std::map<std::pair<DeviceId, Signal>, std::string, std::less<>> claims_;
};

// Why a doubtful reading leaves its time unobserved.
Unobserved ReasonOf(QualityId doubt);

}  // namespace idleburn
