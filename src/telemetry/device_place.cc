#include "telemetry/device_place.h"

#include <climits>
#include <string_view>
#include <tuple>

#include "text/number.h"

namespace idleburn {
namespace {

auto PlaceOf(DeviceId id, const DeviceTable& devices) {
  const Device& device = devices[id];
  const Device& board = device.board ? devices[*device.board] : device;
  const std::int64_t instance = device.mig ? ParseInteger(device.mig->id).value_or(INT64_MAX) : -1;
  return std::tuple(std::string_view(board.host), board.index.value_or(INT_MAX), std::string_view(board.bus_id),
                    std::string_view(board.uuid), device.board.value_or(id), instance, id);
}

}  // namespace

bool StandsBefore(DeviceId a, DeviceId b, const DeviceTable& devices) {
  return PlaceOf(a, devices) < PlaceOf(b, devices);
}

bool OfSeveralHosts(const DeviceTable& devices) {
  for (DeviceId id = 1; id < devices.size(); ++id) {
    if (devices[id].host != devices[0].host) return true;
  }
  return false;
}

}  // namespace idleburn
