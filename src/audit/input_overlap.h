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
// Finds inputs that would be joined into one GPU although they describe two. Logs of two machines may name the same
// index or bus id and no host. Joined, the readings of two GPUs would count as one, and the bill would be half. Such
// inputs show by giving the same counter for the same time, for longer than one log needs to take over from another.
class InputOverlap {
 public:
  explicit InputOverlap(const DeviceTable& devices) : devices_(devices) {}

  // Takes a sample of the present input.
  void See(const Sample& sample);
  // Ends the present input; `input` is its name. Fails if it and an earlier input give the same counter of a device for
  // the same time. Two inputs that both name the device by its UUID, or both by its host, are certain and never fail.
  Result<void> End(const std::string& input);
  // Call it after the last input. Fails if an input names a GPU without its host and several hosts have such a GPU.
  [[nodiscard]] Result<void> Finish() const;

 private:
  // The signals that decide how time and energy are counted. Other signals only add detail to a GPU that these signals
  // already identify.
  static constexpr std::array<Signal, 5> kDecisive = {Signal::kUtilization, Signal::kGrEngineActive, Signal::kSmActive,
                                                      Signal::kPower, Signal::kEnergy};
  // What one input gave for one signal of a device.
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

// The keys by which an input seems to name its GPUs, guessed from its first bytes. Inputs are read in the order of this
// list. An input with both a UUID and an index comes first: it tells how inputs with only one of them belong together.
enum class InputKeys : std::uint8_t { kSeveral, kUuid, kIndex };
InputKeys KeysOf(std::string_view head);

// Names a device in an error message: its UUID, else its bus id, index or model.
std::string NameOf(const Device& device);

// Fails if two devices of several inputs may be one GPU. A GPU that counts twice would cost twice.
Result<void> CheckDistinct(const DeviceTable& devices);

}  // namespace idleburn
