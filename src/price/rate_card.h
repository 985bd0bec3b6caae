#pragma once

#include <span>
#include <string>
#include <vector>

#include "price/rate.h"
#include "telemetry/device.h"

namespace idleburn {

// The rates of a run, each once, and which GPU has which: the time of the GPUs of one rate is summed before it is
// priced.
class RateCard {
 public:
  // One rate for every GPU.
  RateCard(Rate all = {}) : rates_{std::move(all)} {}  // NOLINT(google-explicit-constructor)

  // Another one for this device.
  void Give(DeviceId device, const Rate& rate);
  void Remark(std::string sentence) { remarks_.push_back(std::move(sentence)); }

  // Index into rates() of the rate of a device.
  [[nodiscard]] std::size_t IndexOf(DeviceId device) const { return device < of_.size() ? of_[device] : 0; }
  [[nodiscard]] const Rate& Of(DeviceId device) const { return rates_[IndexOf(device)]; }
  [[nodiscard]] const std::vector<Rate>& rates() const { return rates_; }
  // The rates of those devices, each once.
  [[nodiscard]] std::vector<Rate> Used(std::span<const DeviceId> devices) const;
  // What a reader must know of how they were found, a sentence each.
  [[nodiscard]] const std::vector<std::string>& remarks() const { return remarks_; }

 private:
  std::vector<Rate> rates_;      // the first is that of every device that was given none
  std::vector<std::size_t> of_;  // by DeviceId
  std::vector<std::string> remarks_;
};

// What several rates have in common: itself of one; of others no amount, with the reason "several_rates" if there is
// one at all, and of those without one the candidates together and their range.
Rate OneRate(std::span<const Rate> rates);

}  // namespace idleburn
