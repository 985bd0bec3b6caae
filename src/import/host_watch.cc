#include "import/host_watch.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/time.h"
#include "text/escape.h"
#include "text/number.h"

namespace idleburn {
namespace {

// Prometheus repeats the last value of a series that has ended for so long.
constexpr Nanos kLookBack{5 * 60 * kNanosPerSecond};

bool AtOnce(const HostWatch::Stay& a, const HostWatch::Stay& b) {
  const Nanos overlap = std::min(a.last, b.last) - std::max(a.first, b.first);
  const Nanos shorter = std::min(a.last - a.first, b.last - b.first);
  return overlap.count() >= 0 && (overlap > kLookBack || overlap * 2 >= shorter);
}

}  // namespace

void HostWatch::Stay::See(Instant time) {
  first = std::min(first, time);
  last = std::max(last, time);
}

Result<void> HostWatch::Verdict(const std::string& file, const DeviceTable& devices) const {
  for (const auto& [device, hosts] : stays_) {
    for (auto a = hosts.begin(); a != hosts.end(); ++a) {
      for (auto b = std::next(a); b != hosts.end(); ++b) {
        const bool read = a->second.first <= a->second.last && b->second.first <= b->second.last;
        if (!read || IsOneHost(a->first, b->first) || !AtOnce(a->second, b->second)) continue;
        return Fail(file + ": " + Printable(devices[device].uuid) + " is on " + Printable(a->first) + " and on " +
                    Printable(b->first) +
                    " at the same time, by the host labels; two machines have no GPU in common: " +
                    "correct the label or the UUID, or audit the series of each host alone");
      }
    }
  }
  return {};
}

bool IsOneHost(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  return EqualsIgnoreCase(a, b.substr(0, a.size())) && (a.size() == b.size() || b[a.size()] == '.');
}

}  // namespace idleburn
