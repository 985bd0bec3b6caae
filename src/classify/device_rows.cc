#include "classify/device_rows.h"

#include <algorithm>

namespace idleburn {

void DeviceRows::List() {
  present_.clear();
  rows_.resize(devices_.size());
  if (devices_.empty() || ListRounds()) return;
  present_.clear();
  for (const DeviceId device : devices_) {
    if (device >= place_.size()) place_.resize(device + 1);
    if (place_[device]++ == 0) present_.push_back({device, 0});
  }
  std::uint32_t before = 0;
  for (Present& p : present_) {
    p.rows = place_[p.device];
    place_[p.device] = before;
    before += p.rows;
  }
  for (std::uint32_t row = 0; row < devices_.size(); ++row) rows_[place_[devices_[row]]++] = row;
  for (const Present& p : present_) place_[p.device] = 0;
}

// The quick way for a source that goes round its devices, again and again in one order, as nearly all do. False if this
// is none.
bool DeviceRows::ListRounds() {
  const auto second = std::find(devices_.begin() + 1, devices_.end(), devices_.front());
  if (!std::equal(second, devices_.end(), devices_.begin())) return false;
  const auto round = static_cast<std::uint32_t>(second - devices_.begin());
  std::uint32_t* place = rows_.data();
  for (std::uint32_t i = 0; i < round; ++i) {
    const std::uint32_t* const begin = place;
    for (std::uint32_t row = i; row < devices_.size(); row += round) *place++ = row;
    present_.push_back({devices_[i], static_cast<std::uint32_t>(place - begin)});
  }
  seen_.assign(devices_.begin(), second);
  std::sort(seen_.begin(), seen_.end());
  return std::adjacent_find(seen_.begin(), seen_.end()) == seen_.end();
}

}  // namespace idleburn
