#include "import/reading_writer.h"

#include "telemetry/sample.h"

namespace idleburn {

Unobserved ReasonOf(QualityId doubt) {
  switch (doubt) {
    case QualityId::kOutOfRange:
    case QualityId::kNotFinite: return Unobserved::kInvalidCounter;
    case QualityId::kUnavailableValue: return Unobserved::kUnsupported;
    case QualityId::kFailedScrape: return Unobserved::kStale;
    case QualityId::kClockStep: return Unobserved::kClock;
    default: return Unobserved::kSentinel;
  }
}

bool ReadingWriter::Claim(DeviceId device, Signal signal, std::string_view field, std::string_view counter) {
  const DeviceId home = out_.devices.Home(device, signal);
  const auto [claim, first] = claims_.emplace(std::pair(home, signal), field);
  if (first) out_.devices.NameCounter(home, signal, counter);
  return first || claim->second == field;
}

void ReadingWriter::Use(DeviceId device, Signal signal, const std::string& counter) {
  const DeviceId home = out_.devices.Home(device, signal);
  if (out_.devices[home].counter[Index(signal)] == counter) return;
  Flush();
  out_.devices.NameCounter(home, signal, counter);
}

void ReadingWriter::Put(Instant time, DeviceId device, Signal signal, const Reading& reading, Place place) {
  std::optional<QualityId> doubt = reading.doubt;
  // Each was in range; a sum of several may not be.
  if (!doubt && InRange(Info(signal).unit, reading.value) != reading.value) doubt = QualityId::kOutOfRange;
  if (doubt) {
    out_.quality.Count(*doubt, place);
    PutUnavailable(time, device, signal, ReasonOf(*doubt));
    return;
  }
  Sample& s = batch_.emplace_back();
  s.time = time;
  s.device = device;
  s.Set(signal, reading.value);
  if (batch_.size() == kBatch) Flush();
}

void ReadingWriter::PutUnavailable(Instant time, DeviceId device, Signal signal, Unobserved reason) {
  Sample& s = batch_.emplace_back();
  s.time = time;
  s.device = device;
  s.SetUnavailable(signal, reason);
  if (batch_.size() == kBatch) Flush();
}

void ReadingWriter::PutSample(const Sample& sample) {
  batch_.push_back(sample);
  if (batch_.size() == kBatch) Flush();
}

void ReadingWriter::Flush() {
  if (!batch_.empty()) out_.sink.OnSamples(batch_);
  batch_.clear();
}

}  // namespace idleburn
