#include "owners/resource_slices.h"

#include <simdjson.h>

#include <cstdint>
#include <utility>

namespace idleburn {
namespace {

using SliceElement = simdjson::dom::element;

// One generation of a pool, as far as its slices were seen.
struct PoolGeneration {
  std::int64_t generation = -1;
  std::int64_t wanted = 0;
  std::int64_t seen = 0;
  std::map<std::string, std::string> uuids;  // by device name
};

std::string TextAt(SliceElement element, std::string_view key) {
  std::string_view text;
  return element[key].get_string().get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

// The text of {"uuid": {"string": "GPU-..."}}; of v1beta1 the attributes stand under "basic".
std::string UuidOfDevice(SliceElement device) {
  SliceElement attributes;
  SliceElement uuid;
  if (device["attributes"].get(attributes) != simdjson::SUCCESS &&
      device["basic"]["attributes"].get(attributes) != simdjson::SUCCESS) {
    return "";
  }
  return attributes["uuid"].get(uuid) == simdjson::SUCCESS ? TextAt(uuid, "string") : "";
}

// Adds one slice to its pool. False if it has another form.
bool AddSlice(SliceElement item, std::map<std::pair<std::string, std::string>, PoolGeneration>* pools) {
  SliceElement spec;
  SliceElement pool;
  std::int64_t generation = 0;
  std::int64_t wanted = 0;
  if (item["spec"].get(spec) != simdjson::SUCCESS || spec["pool"].get(pool) != simdjson::SUCCESS) return false;
  if (pool["generation"].get_int64().get(generation) != simdjson::SUCCESS) return false;
  if (pool["resourceSliceCount"].get_int64().get(wanted) != simdjson::SUCCESS) return false;
  PoolGeneration& known = (*pools)[{TextAt(spec, "driver"), TextAt(pool, "name")}];
  if (generation < known.generation) return true;
  if (generation > known.generation) known = {generation, wanted, 0, {}};
  ++known.seen;
  simdjson::dom::array devices;
  if (spec["devices"].get_array().get(devices) != simdjson::SUCCESS) return true;  // a slice may have none
  for (const SliceElement device : devices) {
    const std::string uuid = UuidOfDevice(device);
    if (!uuid.empty()) known.uuids[TextAt(device, "name")] = uuid;
  }
  return true;
}

}  // namespace

Result<SliceUuids> ParseResourceSlices(std::string text) {
  simdjson::dom::parser parser;
  SliceElement document;
  simdjson::dom::array items;
  if (parser.parse(text).get(document) != simdjson::SUCCESS ||
      document["items"].get_array().get(items) != simdjson::SUCCESS) {
    return Fail("the file of ResourceSlices is not a list in JSON; write it with kubectl get resourceslices -o json");
  }
  std::map<std::pair<std::string, std::string>, PoolGeneration> pools;
  for (const SliceElement item : items) {
    if (!AddSlice(item, &pools)) return Fail("the file of ResourceSlices has an entry without a pool");
  }
  SliceUuids uuids;
  for (const auto& [key, pool] : pools) {
    if (pool.seen != pool.wanted) continue;  // a part of a pool may describe another device by the same name
    for (const auto& [device, uuid] : pool.uuids) uuids[DraDevice{key.first, key.second, device}] = uuid;
  }
  return uuids;
}

}  // namespace idleburn
