#include "classify/device_rows.h"

#include <algorithm>

namespace idleburn {

void DeviceRows::Set(const DeviceId* devices, std::size_t from, std::size_t to) {
  present_.clear();
  rows_.resize(to - from);
  if (from == to || SetRounds({devices + from, devices + to}, static_cast<std::uint32_t>(from))) return;
  present_.clear();
  for (std::size_t row = from; row < to; ++row) {
    const DeviceId device = devices[row];
    if (device >= place_.size()) place_.resize(device + 1);
    if (place_[device]++ == 0) present_.push_back({device, 0});
  }
  std::uint32_t before = 0;
  for (Present& p : present_) {
    p.rows = place_[p.device];
    place_[p.device] = before;
    before += p.rows;
  }
  for (std::size_t row = from; row < to; ++row) rows_[place_[devices[row]]++] = static_cast<std::uint32_t>(row);
  for (const Present& p : present_) place_[p.device] = 0;
}

// The quick way for a source that goes round its devices, again and again in one order, as nearly all do. False if this
// is none.
bool DeviceRows::SetRounds(std::span<const DeviceId> devices, std::uint32_t from) {
  const auto second = std::find(devices.begin() + 1, devices.end(), devices.front());
  if (!std::equal(second, devices.end(), devices.begin())) return false;
  const auto round = static_cast<std::uint32_t>(second - devices.begin());
  std::uint32_t* place = rows_.data();
  for (std::uint32_t i = 0; i < round; ++i) {
    const std::uint32_t* const begin = place;
    for (std::uint32_t row = i; row < devices.size(); row += round) *place++ = from + row;
    present_.push_back({devices[i], static_cast<std::uint32_t>(place - begin)});
  }
  seen_.assign(devices.begin(), second);
  std::sort(seen_.begin(), seen_.end());
  return std::adjacent_find(seen_.begin(), seen_.end()) == seen_.end();
}

}  // namespace idleburn
