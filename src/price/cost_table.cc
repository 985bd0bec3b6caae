#include "price/cost_table.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/int128.h"

namespace idleburn {
namespace {

// Where the billionths go that rounding down left over. Each device and each line lack as many as their sums say; as
// the devices lack together what the lines do, every one finds a place.
class Leftovers {
 public:
  // Rounds every cell down.
  Leftovers(const CostLines& lines, std::int64_t total, std::span<const DeviceTime> devices,
            std::vector<std::int64_t> of_devices)
      : line_lacks_(lines), device_lacks_(std::move(of_devices)), costs_(devices.size()), cells_(devices.size()) {
    Int128 all = 0;
    for (const DeviceTime& device : devices) all += device.time.WindowNs();
    for (std::size_t d = 0; d < devices.size() && all > 0; ++d) {
      for (std::size_t l = 0; l < kLineCount; ++l) {
        const std::int64_t ns = devices[d].time.line_ns[l];
        const Int128 part = static_cast<Int128>(total) * ns;
        if (ns > 0) cells_[d].timed |= Bit(l);
        if (part % all != 0) cells_[d].open |= Bit(l);
        costs_[d][l] = static_cast<std::int64_t>(part / all);
        line_lacks_[l] -= costs_[d][l];
        device_lacks_[d] -= costs_[d][l];
      }
    }
  }

  std::vector<CostLines> HandOut() {
    for (std::size_t d = 0; d < cells_.size(); ++d) {
      unsigned tried = 0;
      while (device_lacks_[d] > 0 && Raise(d, &tried)) {
        --device_lacks_[d];
        tried = 0;
      }
    }
    for (const bool with_time : {true, false}) {
      for (std::size_t d = 0; d < cells_.size(); ++d) GiveRest(d, with_time ? cells_[d].timed : kEveryLine);
    }
    return std::move(costs_);
  }

 private:
  static constexpr unsigned kEveryLine = (1U << kLineCount) - 1;
  static constexpr unsigned Bit(std::size_t line) { return 1U << line; }
  struct Cells {         // of a device, a bit a line
    unsigned timed = 0;  // have time
    unsigned open = 0;   // were rounded down
    unsigned raised = 0;
  };

  // Rounds another cell of the device up: of a line that lacks a billionth, else of one for which another device, which
  // was given it, takes one elsewhere.
  bool Raise(std::size_t device, unsigned* tried) {
    for (const bool lacking : {true, false}) {
      for (std::size_t l = 0; l < kLineCount; ++l) {
        const unsigned bit = Bit(l);
        if ((cells_[device].open & ~*tried & bit) == 0 || (lacking && line_lacks_[l] == 0)) continue;
        *tried |= bit;
        if (!lacking && !MoveAway(l, tried)) continue;
        Turn(device, l, +1);
        return true;
      }
    }
    return false;
  }

  bool MoveAway(std::size_t line, unsigned* tried) {
    for (std::size_t d = 0; d < cells_.size(); ++d) {
      if ((cells_[d].raised & Bit(line)) == 0 || !Raise(d, tried)) continue;
      Turn(d, line, -1);
      return true;
    }
    return false;
  }

  void Turn(std::size_t device, std::size_t line, int way) {
    cells_[device].open ^= Bit(line);
    cells_[device].raised ^= Bit(line);
    costs_[device][line] += way;
    line_lacks_[line] -= way;
  }

  void GiveRest(std::size_t device, unsigned lines) {
    for (std::size_t l = 0; l < kLineCount; ++l) {
      if ((lines & Bit(l)) == 0) continue;
      const std::int64_t given = std::min(device_lacks_[device], line_lacks_[l]);
      costs_[device][l] += given;
      device_lacks_[device] -= given;
      line_lacks_[l] -= given;
    }
  }

  CostLines line_lacks_;
  std::vector<std::int64_t> device_lacks_;
  std::vector<CostLines> costs_;
  std::vector<Cells> cells_;
};

}  // namespace

Result<std::vector<CostLines>> SplitOverDevices(const CostLines& lines, std::span<const DeviceTime> devices) {
  const std::int64_t total = std::accumulate(lines.begin(), lines.end(), std::int64_t{0});
  std::vector<std::int64_t> times;
  for (const DeviceTime& device : devices) times.push_back(device.time.WindowNs());
  Result<std::vector<std::int64_t>> totals = SplitNanos(total, times);
  if (!totals) return tl::unexpected<Error>(totals.error());
  return Leftovers(lines, total, devices, *std::move(totals)).HandOut();
}

}  // namespace idleburn
