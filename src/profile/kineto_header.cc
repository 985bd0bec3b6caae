#include "profile/kineto_header.h"

#include <algorithm>
#include <array>
#include <string>

#include "profile/json_scan.h"
#include "text/escape.h"
#include "text/number.h"

namespace idleburn {
namespace {

constexpr std::size_t kLongestFact = 40;
constexpr std::int64_t kLatestBase = std::int64_t{1} << 61;  // in 2043; sums of times beyond could overflow

struct Fact {
  std::string_view key;
  std::string_view name;
};
constexpr auto kFacts = std::to_array<Fact>({
    {"schemaVersion", "schema"},
    {"cuda_runtime_version", "cuda_runtime"},
    {"cuda_driver_version", "cuda_driver"},
    {"cupti_version", "cupti"},
    {"hip_runtime_version", "hip_runtime"},
    {"hip_driver_version", "hip_driver"},
    {"roctracer_version", "roctracer"},
});

struct DeviceProperties {
  std::string_view id;
  std::string_view name;
  std::string_view memory;
};
constexpr auto kDeviceFields = std::to_array<JsonField<DeviceProperties>>({
    {"id", &DeviceProperties::id},
    {"name", &DeviceProperties::name},
    {"totalGlobalMem", &DeviceProperties::memory},
});

struct DistributedInfo {
  std::string_view backend;
  std::string_view rank;
  std::string_view world_size;
  std::string_view nccl;
};
constexpr auto kDistributedFields = std::to_array<JsonField<DistributedInfo>>({
    {"backend", &DistributedInfo::backend},
    {"rank", &DistributedInfo::rank},
    {"world_size", &DistributedInfo::world_size},
    {"nccl_version", &DistributedInfo::nccl},
});

// A scalar of some length; containers and essays are no facts.
void SetFact(std::string_view name, std::string_view text, ProfileBuilder& builder) {
  const bool container = !text.empty() && (text.front() == '{' || text.front() == '[');
  if (text.empty() || container || text.size() > kLongestFact) return;
  builder.header().facts[std::string(name)] = Printable(text);
}

void ReadDevices(const char* p, const char* end, ProfileBuilder& builder) {
  for (++p; (p = SkipBlanksAndCommas(p, end)) < end && *p == '{';) {
    DeviceProperties properties;
    const char* const next = SkipValue(p, end);
    if (next == nullptr || ReadFields(p, end, kDeviceFields, properties) != Scan::kWhole) return;
    if (const std::optional<std::int64_t> id = ParseInteger(properties.id)) {
      std::string scratch;
      ProfiledDevice& device = builder.Device(*id);
      device.model = Unescape(properties.name, scratch);
      device.memory_bytes = ParseInteger(properties.memory);
    }
    p = next;
  }
}

void ReadDistributed(const char* p, const char* end, ProfileBuilder& builder) {
  DistributedInfo info;
  ReadFields(p, end, kDistributedFields, info);
  Profile& header = builder.header();
  header.rank = ParseInteger(info.rank);
  header.world_size = ParseInteger(info.world_size);
  SetFact("backend", info.backend, builder);
  SetFact("nccl", info.nccl, builder);
}

}  // namespace

void ReadKinetoHeader(std::string_view key, std::string_view value, ProfileBuilder& builder) {
  const char* const end = value.data() + value.size();
  if (key == "deviceProperties" && value.front() == '[') return ReadDevices(value.data(), end, builder);
  if (key == "distributedInfo" && value.front() == '{') return ReadDistributed(value.data(), end, builder);
  std::string_view text;
  // Text without its quotes; what ends with the value ends it.
  if (ReadText(value.data(), end, text) == nullptr) text = value;
  if (key == "baseTimeNanoseconds") {
    const std::optional<std::int64_t> base = ParseInteger(text);
    if (base && *base >= 0 && *base <= kLatestBase) builder.header().wall_base_ns = base;
  }
  const auto fact = std::find_if(kFacts.begin(), kFacts.end(), [&](const Fact& f) { return f.key == key; });
  if (fact != kFacts.end()) SetFact(fact->name, text, builder);
}

}  // namespace idleburn
