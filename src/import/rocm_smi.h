#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "import/importer.h"

namespace idleburn {

// One card of `rocm-smi --json`, in the units of the signals. What a card does not have is absent or empty, never 0.
struct RocmCard {
  std::string card;       // "card0"
  std::string unique_id;  // "0x79ccd55167a2124a"
  std::string serial_number;
  std::string bus_id;
  std::string series;
  std::string model;
  std::string gfx_version;
  std::optional<std::int64_t> use;         // micro-percent
  std::optional<std::int64_t> memory_use;  // micro-percent: activity, not occupancy
  std::optional<std::int64_t> power;       // milliwatts
  std::optional<std::int64_t> max_power;
  std::optional<std::int64_t> edge;  // millicelsius
  std::optional<std::int64_t> junction;
  std::optional<std::int64_t> sclk;  // kilohertz
  std::optional<std::int64_t> vram_total;  // bytes
  std::optional<std::int64_t> vram_used;
  std::optional<std::int64_t> vis_vram_total;  // the part of the same memory that the CPU sees
  std::optional<std::int64_t> vis_vram_used;
  struct Missing {
    std::string key;
    QualityId why;
  };
  std::vector<Missing> missing;      // known fields without a value: N/A, or a number that is none
  std::vector<std::string> unknown;  // keys of no known field
};

struct RocmReport {
  std::vector<RocmCard> cards;
  std::string driver_version;
};

// One document. Fails if it is no JSON.
Result<RocmReport> ParseRocmSmi(std::string_view json);

// Output of `rocm-smi --json` with any of its options. It carries no stamps: one document is one scrape at second 0,
// several in one file follow each other by an assumed second. At most kMaxJsonBytes.
bool SniffRocmSmi(std::string_view head);
Result<void> ImportRocmSmi(ByteSource& in, const ImportOptions& options, ImportTarget& out);

}  // namespace idleburn
