#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "telemetry/device.h"
#include "telemetry/reading_times.h"

namespace idleburn {
// Finds inputs that would become one GPU and are of two. Logs of two machines know the same index, or the same bus id,
// and no host; joined, the readings of two GPUs would be those of one that costs half. It shows where both give the
// same counter for the same time, longer than where one log takes over from another.
class InputOverlap {
 public:
  explicit InputOverlap(const DeviceTable& devices) : devices_(devices) {}

  // A sample of the present input.
  void See(const Sample& sample);
  // The present input, of that name, has ended. Fails if it and an earlier one give one counter of one device at once,
  // and not both name the device by its UUID, or both by its host.
  Result<void> End(const std::string& input);
  // After the last input. Fails if one names a GPU without its host that several hosts have.
  [[nodiscard]] Result<void> Finish() const;

 private:
  // What decides how time and energy are counted. Other readings say more of a GPU that is known by these.
  static constexpr std::array<Signal, 5> kDecisive = {Signal::kUtilization, Signal::kGrEngineActive, Signal::kSmActive,
                                                      Signal::kPower, Signal::kEnergy};
  // What an input said of one signal of a device.
  struct Series {
    std::size_t input;  // its place in inputs_
    unsigned named_by;
    std::string counter;
    Coverage covered;
  };
  [[nodiscard]] Result<void> Check(const Series& before, const Series& now, DeviceId device) const;

  const DeviceTable& devices_;
  std::vector<std::array<Coverage, kDecisive.size()>> present_;  // by device
  std::map<std::pair<DeviceId, Signal>, std::vector<Series>> ended_;
  std::vector<std::pair<std::size_t, DeviceId>> placed_;  // what inputs name by neither UUID nor host
  std::vector<std::string> inputs_;                       // that ended
};

// By how many keys an input seems to name its GPUs, from its first bytes. In the order of this list inputs are read: an
// input that knows both a UUID and an index joins what others know by one of them.
enum class InputKeys : std::uint8_t { kSeveral, kUuid, kIndex };
InputKeys KeysOf(std::string_view head);

// A device, for people who are told that it is doubtful.
std::string NameOf(const Device& device);

// Fails where nothing says that two devices of several inputs are two: one that counts twice would cost twice.
Result<void> CheckDistinct(const DeviceTable& devices);

}  // namespace idleburn
