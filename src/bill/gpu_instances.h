#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace idleburn {

// How many GPUs a rented machine has, by its instance type, from the price catalogue that ships with the program.
// Exports other than FOCUS name only the type.
struct GpuInstance {
  std::int64_t gpus = 0;
  std::string model;
};

class GpuInstances {
 public:
  // All instances of the catalogue with whole GPUs.
  static GpuInstances BuiltIn();
  // Null if the catalogue has no such instance. Case does not matter.
  [[nodiscard]] const GpuInstance* Find(std::string_view instance) const;

 private:
  std::map<std::string, GpuInstance, std::less<>> rows_;
};

}  // namespace idleburn
