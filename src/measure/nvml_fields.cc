#include "measure/nvml_fields.h"

#include <charconv>

namespace idleburn {
namespace {

template <typename T>
std::optional<std::uint64_t> Known(T value) {
  if (value == static_cast<T>(~T{0})) return std::nullopt;
  return static_cast<std::uint64_t>(value);
}

template <typename T>
std::optional<std::uint64_t> NotNegative(T value) {
  if (value < 0) return std::nullopt;
  return static_cast<std::uint64_t>(value);
}

}  // namespace

std::optional<std::uint64_t> IntegerOf(const nvml::Value& value, nvml::ValueType type) {
  switch (type) {
    case nvml::ValueType::kUint:
      return Known(value.u32);
    case nvml::ValueType::kUlong:
      return Known(value.ul);
    case nvml::ValueType::kUlonglong:
      return Known(value.u64);
    case nvml::ValueType::kUshort:
      return Known(value.u16);
    case nvml::ValueType::kLonglong:
      return NotNegative(value.i64);
    case nvml::ValueType::kInt:
      return NotNegative(value.i32);
    case nvml::ValueType::kDouble:
      break;
  }
  return std::nullopt;
}

int BitsOf(nvml::ValueType type) {
  switch (type) {
    case nvml::ValueType::kUint:
    case nvml::ValueType::kInt:
      return 32;
    case nvml::ValueType::kUshort:
      return 16;
    default:
      return 64;
  }
}

SlowdownFields::SlowdownFields(std::string_view nvml_version)
    : order_{nvml::kFieldSlowdowns, nvml::kFieldSlowdownsBefore13} {
  int major = 0;
  std::from_chars(nvml_version.data(), nvml_version.data() + nvml_version.size(), major);
  if (major < 13) order_ = {nvml::kFieldSlowdownsBefore13, nvml::kFieldSlowdowns};
}

std::optional<SlowdownFields::Ids> SlowdownFields::Candidate() const {
  if (ids_ || candidate_ >= order_.size()) return std::nullopt;
  return order_[candidate_];
}

void SlowdownFields::Judge(const std::array<nvml::FieldValue, 3>& fields, Nanos at) {
  bool right = true;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const nvml::FieldValue& field = fields[i];
    right = right && field.result == nvml::kSuccess && field.type == nvml::ValueType::kUlonglong;
    const std::uint64_t value = field.value.u64;
    if (right && readings_ > 0) {
      const double passed = static_cast<double>((at - last_at_).count());
      right = value >= last_[i] && static_cast<double>(value - last_[i]) <= 1.05 * passed;
    }
    last_[i] = value;
  }
  last_at_ = at;
  if (!right) {
    ++candidate_;
    readings_ = 0;
  } else if (++readings_ == kReadings) {
    ids_ = order_[candidate_];
  }
}

}  // namespace idleburn
