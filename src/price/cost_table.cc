#include "price/cost_table.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/int128.h"

namespace idleburn {
namespace {

// Where the billionths go that rounding down left over: each device and each line lack as many as their sums say.
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
    for (const Within within : {Within::kRoundedUp, Within::kTimed}) {
      for (std::size_t d = 0; d < cells_.size(); ++d) {
        for (unsigned tried = 0; device_lacks_[d] > 0 && Raise(d, within, &tried); tried = 0) --device_lacks_[d];
      }
    }
    for (std::size_t l = 0; l < kLineCount; ++l) {  // of devices that share no line with those that lack
      for (std::size_t d = 0; d < cells_.size() && line_lacks_[l] > 0; ++d) {
        if ((cells_[d].timed & Bit(l)) != 0) Turn(d, l, +1);
      }
    }
    return std::move(costs_);
  }

 private:
  enum class Within : std::uint8_t { kRoundedUp, kTimed };  // what a cell may take
  static constexpr unsigned Bit(std::size_t line) { return 1U << line; }
  struct Cells {         // of a device, a bit a line
    unsigned timed = 0;  // have time
    unsigned open = 0;   // were rounded down and could be rounded up
    unsigned raised = 0;
  };

  [[nodiscard]] unsigned Takers(std::size_t device, Within within) const {
    return within == Within::kTimed ? cells_[device].timed : cells_[device].open & ~cells_[device].raised;
  }
  [[nodiscard]] bool CanGive(std::size_t device, std::size_t line, Within within) const {
    return within == Within::kTimed ? costs_[device][line] > 0 : (cells_[device].raised & Bit(line)) != 0;
  }

  // Gives the device a billionth: of a line that lacks one, else of one of which another device can take one elsewhere.
  bool Raise(std::size_t device, Within within, unsigned* tried) {
    for (const bool lacking : {true, false}) {
      for (std::size_t l = 0; l < kLineCount; ++l) {
        const unsigned bit = Bit(l);
        if ((Takers(device, within) & ~*tried & bit) == 0 || (lacking && line_lacks_[l] == 0)) continue;
        *tried |= bit;
        if (!lacking && !MoveAway(l, within, tried)) continue;
        Turn(device, l, +1);
        return true;
      }
    }
    return false;
  }

  bool MoveAway(std::size_t line, Within within, unsigned* tried) {
    for (std::size_t d = 0; d < cells_.size(); ++d) {
      if (!CanGive(d, line, within) || !Raise(d, within, tried)) continue;
      Turn(d, line, -1);
      return true;
    }
    return false;
  }

  void Turn(std::size_t device, std::size_t line, int way) {
    cells_[device].raised ^= Bit(line);
    costs_[device][line] += way;
    line_lacks_[line] -= way;
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
  std::vector<std::int64_t> totals = TRY(SplitNanos(total, times));
  return Leftovers(lines, total, devices, std::move(totals)).HandOut();
}

}  // namespace idleburn
