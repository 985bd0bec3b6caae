#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/time.h"
#include "measure/nvml_abi.h"

namespace idleburn {

// The integer a value of that type holds; absent for a double, a negative one, or all ones (the driver has none).
std::optional<std::uint64_t> IntegerOf(const nvml::Value& value, nvml::ValueType type);
// Width in bits of a counter of that type.
int BitsOf(nvml::ValueType type);

// Finds the field ids of the three slowdown counters (software thermal, hardware thermal, power brake). Releases of
// the driver number them differently, and what stands under the other ids looks like a number too: ids are believed
// when three readings in a row are 64 bits wide, never fall, and count no more time than passed.
class SlowdownFields {
 public:
  using Ids = std::array<std::uint32_t, 3>;
  static constexpr int kReadings = 3;

  explicit SlowdownFields(std::string_view nvml_version);

  // The ids to read next; absent when settled, or when neither set is right.
  [[nodiscard]] std::optional<Ids> Candidate() const;
  // What reading the candidates gave.
  void Judge(const std::array<nvml::FieldValue, 3>& fields, Nanos at);

  // Absent until settled, and where neither set is right.
  [[nodiscard]] const std::optional<Ids>& ids() const { return ids_; }

 private:
  std::array<Ids, 2> order_;
  std::size_t candidate_ = 0;
  int readings_ = 0;
  std::array<std::uint64_t, 3> last_{};
  Nanos last_at_{0};
  std::optional<Ids> ids_;
};

}  // namespace idleburn
