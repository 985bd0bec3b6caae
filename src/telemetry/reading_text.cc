#include "telemetry/reading_text.h"

#include <fmt/format.h>

#include "telemetry/device.h"

namespace idleburn {

std::string ReadingText(Signal signal, std::int64_t value) {
  const auto number = static_cast<double>(value);
  switch (Info(signal).unit) {
    case Unit::kMicroPercent:
      return fmt::format("{:.0f} %", number / static_cast<double>(kPercent));
    case Unit::kMilliwatt:
      return fmt::format("{:.0f} W", number / 1e3);
    case Unit::kMillijoule:
      return fmt::format("{:.1f} kJ", number / 1e6);
    case Unit::kKilohertz:
      return fmt::format("{:.0f} MHz", number / 1e3);
    case Unit::kByte:
      return fmt::format("{:.1f} GiB", number / static_cast<double>(std::int64_t{1} << 30));
    case Unit::kMillicelsius:
      return fmt::format("{:.0f} C", number / 1e3);
    case Unit::kMask:
      return fmt::format("{:#x}", value);
    case Unit::kCount:
      return std::to_string(value);
    case Unit::kBytePerSecond:
      return fmt::format("{:.1f} MB/s", number / 1e6);
  }
  return {};
}

std::string ShortName(const Device& device) {
  std::string name = "GPU " + (device.index ? std::to_string(*device.index) : device.uuid);
  if (device.mig) name += " MIG " + device.mig->profile + " #" + device.mig->id;
  return name;
}

std::string DeviceLabel(const DeviceTable& devices, DeviceId device) {
  constexpr std::size_t kShortUuid = 12;  // "GPU-5f3a2b1c"
  const Device& d = devices[device];
  std::string label;
  if (!d.host.empty() && OfSeveralHosts(devices)) label = d.host + " ";
  if (d.index) {
    label += "GPU " + std::to_string(*d.index);
  } else if (!d.uuid.empty()) {
    label += d.uuid.substr(0, kShortUuid);
  } else if (!d.bus_id.empty()) {
    label += d.bus_id;
  } else {
    label += d.name.empty() ? "device " + std::to_string(device) : d.name;  // a table may name GPUs as it likes
  }
  if (d.mig) label += " " + d.mig->profile + " #" + d.mig->id;
  return label;
}

}  // namespace idleburn
