#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "import/importer.h"
#include "telemetry/data_quality.h"
#include "telemetry/sample.h"

namespace idleburn {

// How tools print times and quantities, and what the printed text means. The importers of what vendor tools print read
// their values here, so that "[N/A]" and "MiB" mean the same in all of them.

// Parses "Tue Sep  1 08:00:05 2026", as nvidia-smi and dcgmi print it. Absent if the text is not such a time.
std::optional<CivilTime> ParseCtime(std::string_view text);

// The instant of a local time, using the stamp before it. The end of daylight saving repeats an hour. A stamp belongs
// to the second pass if in the first pass it would lie clearly before *last. For example, 02:10 after 02:50 is the
// second 02:10. Sets *last. Stamps must be passed in the order of the log.
Instant ByOrder(const LocalMeaning& meaning, Instant* last);

// Turns the wall-clock stamps of one input into instants, in the user's zone or in UTC. Counts once per input that
// UTC was assumed, and counts every stamp that daylight saving makes ambiguous.
//
// Wrong where a log was written in another zone than the user says or UTC: all its times are shifted, and durations
// stay right except across a change of daylight saving.
class StampClock {
 public:
  // All references outlive the clock. `file` is the input's name, for places.
  StampClock(const ImportOptions& options, DataQuality& quality, const std::string& file)
      : options_(options), quality_(quality), file_(file) {}

  // `zoned`: the stamp named its zone and is already UTC. `line`: 0 if unknown.
  Instant At(const CivilTime& stamp, bool zoned, std::int64_t line);

 private:
  const ImportOptions& options_;
  DataQuality& quality_;
  const std::string& file_;
  bool assumed_ = false;
  Instant last_;
};

// The time of a sweep in a log without times: `sweep` periods after --start, or after the start of 1970. A period is
// --period, or a second.
Instant AssumedTime(const ImportOptions& options, std::int64_t sweep);

// The result of reading one value: the value in the signal's integer unit, or the reason why there is none and the
// data-quality row that counts it.
struct Quantity {
  std::optional<std::int64_t> value;
  Unobserved why = Unobserved::kSentinel;
  QualityId issue = QualityId::kBadRow;
};

// The reason behind a spelling of "no value", in any format: "[N/A]", "ERR!", "-", ... Absent if `text` is a value.
// Square brackets and case do not matter, and any other text in square brackets means "no value" too.
std::optional<Unobserved> WhyUnavailable(std::string_view text);
// A name, or "" if the text means "no value", as for a GPU that fell off the bus.
inline std::string_view NameIn(std::string_view text) { return WhyUnavailable(text) ? std::string_view() : text; }

// A unit as tools print it: one `text` is numerator / denominator of the integer unit.
struct UnitScale {
  std::string_view text;
  Unit unit;
  std::int64_t numerator;
  std::int64_t denominator;
};
// Null if values of `unit` are never printed that way. NVIDIA's KB/s and MB/s are decimal; its MB and MiB are both 2^20
// bytes.
const UnitScale* FindUnitScale(std::string_view text, Unit unit);

// The length of the number at the start of `text`, which may be a word such as "NaN". The rest is its unit.
std::size_t NumberLength(std::string_view text);

// Reads text with or without a unit into the integer unit of a signal, rounded half to even: "142.33 W" is 142330 mW.
// `plain` is the unit of a bare number: "%", "W", "MHz", "MiB", "B", "C", "J", "KB/s", "MB/s", or "" for counts and
// masks. A value outside the range of its unit is no value, but up to half a percent beyond 0 to 100 % counts as the
// limit. Text that is neither a value nor a known word is kBadRow.
Quantity ReadQuantity(std::string_view text, Unit unit, std::string_view plain);

// Reads `text` into the sample, or counts why it has no value. True if it has one.
bool PutQuantity(Signal signal, std::string_view text, std::string_view plain, Sample* sample, DataQuality& quality,
                 Place place);

}  // namespace idleburn
