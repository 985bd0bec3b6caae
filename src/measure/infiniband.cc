#include "measure/infiniband.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "measure/proc_text.h"

namespace idleburn {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kBytesOfUnit = 4;
constexpr std::int64_t kLast32 = 0xFFFFFFFF;

// In order of name; empty where there is no such folder.
std::vector<fs::path> EntriesOf(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    entries.push_back(at->path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

}  // namespace

InfinibandPorts::InfinibandPorts(const std::string& sys) {
  for (const fs::path& device : EntriesOf(sys + "/class/infiniband")) {
    for (const fs::path& port : EntriesOf(device / "ports")) {
      const std::string counters = (port / "counters").string();
      received_.counters.push_back({KeptFile(counters + "/port_rcv_data", nullptr), {}});
      sent_.counters.push_back({KeptFile(counters + "/port_xmit_data", nullptr), {}});
    }
  }
}

std::optional<std::int64_t> InfinibandPorts::Direction::Read(std::string& buffer) {
  bool any = false;
  for (Counter& counter : counters) {
    const std::optional<std::string_view> text = counter.file.Read(buffer);
    const std::optional<std::int64_t> now = text ? NumberOf(WithoutEnd(*text)) : std::nullopt;
    stopped = stopped || now == kLast32;
    if (!now) continue;
    any = true;
    if (counter.last && *now >= *counter.last) bytes += (*now - *counter.last) * kBytesOfUnit;
    counter.last = now;
  }
  return any && !stopped ? std::optional(bytes) : std::nullopt;
}

void InfinibandPorts::Read(HostSample* sample) {
  for (const auto& [signal, direction] :
       {std::pair(HostSignal::kRdmaReceived, &received_), std::pair(HostSignal::kRdmaSent, &sent_)}) {
    if (direction->counters.empty()) continue;
    if (const std::optional<std::int64_t> bytes = direction->Read(buffer_)) {
      sample->Set(signal, *bytes);
    } else {
      sample->SetUnavailable(signal);
    }
  }
}

}  // namespace idleburn
