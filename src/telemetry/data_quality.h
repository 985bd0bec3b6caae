// Everything doubtful about the inputs, counted. Nothing is corrected silently: each treatment of bad data is a
// row of the table, and every report shows the rows that occurred.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace idleburn {

// Every kind of doubtful data and how it was treated. Each kind has a row in kQualityTable.
enum class QualityId : std::uint8_t {
  kDuplicateRow,
  kOutOfOrder,
  kClockStep,
  kTornRow,
  kBadRow,
  kOutOfRange,
  kNotFinite,
  kSentinelValue,
  kUnavailableValue,
  kUnknownColumn,
  kUnknownMetric,
  kTimezoneAssumed,
  kTimezoneAmbiguous,
  kSharedCopies,
  kMaskedUuid,
  kIndexRemapped,
  kInferredIdentity,
  kMovedGpu,
  kCounterReset,
  kInvalidProfilingCounter,
  kMislabelledCounter,
  kTruncatedInput,
  kJobResolution,
  kSingleSample,
  kPeriodEstimated,
  kUnitAssumed,
  kPriceRounded,
  kPriceStale,
  kFailedScrape,
  kXidSeen,
  kProcessDetail,
  kLateCounter,
  kNoTimestamp,
  kUnknownEvent,
  kSharedDeviceNumber,
  kNegativeDuration,
  kLongDuration,
  kRoundedTime,
  kUnpairedRange,
  kUnclosedProfile,
  kLostBytes,
  kTooLongEvent,
  kAmbiguousLaunch,
  kProfilerWarning,
  kNarrowLink,
  kGpusLeftOut,
  kGpusUnclear,
  kGpusFailed,
  kMixedCounters,
  kUnsizedInstance,
  kOwnerGaps,
  kDifferingReadings,
  kScaleUnproven,
  kQueryWarning,
  kEvenGrid,
  kInstantQuery,
  kFileNotRead,
  kOwnerOutlivesJob,
  kMissingChunk,
  kUnclosedRecording,
  kUnwrittenRecording,
  kMeasuringFailed,
  kInvalidUtilization,
  kCoarseStamps,
  kOutsideWindow,
  kSeenInPart,
  kCount,  // the number of kinds
};
inline constexpr auto kQualityCount = static_cast<std::size_t>(QualityId::kCount);

// How much a kind of doubtful data matters for the figures.
enum class Severity : std::uint8_t { kInfo, kWarn, kError };
std::string_view Name(Severity s);

// A row of the table. `sentence` says what the finding means for the figures. It has a plural and a singular form:
// "{rows were|row was} dropped". `name` is the id in JSON (docs/json.md), so it must not change.
struct QualityInfo {
  QualityId id;
  std::string_view name;
  Severity severity;
  std::string_view sentence;  // for people
};
// The table in the order of QualityId.
extern const std::array<QualityInfo, kQualityCount> kQualityTable;

// Where in an input something was seen. Line 0 means the whole file.
struct Place {
  const std::string* file = nullptr;
  std::int64_t line = 0;
};

// Counts doubtful data. Counting is cheap. Each kind keeps its first place and up to 12 names. Every reader of inputs
// gets one and counts into it; the report shows the rows that are not 0.
class DataQuality {
 public:
  struct Row {
    std::int64_t count = 0;
    std::string first_place;      // "file:line", empty when the input has no lines
    std::set<std::string> names;  // of unknown columns or metrics
  };

  // Adds `n` occurrences. Zero changes nothing.
  void Count(QualityId id, Place place = {}, std::int64_t n = 1);
  // Like Count, and remembers the name that is affected.
  void CountNamed(QualityId id, std::string_view name, Place place = {}, std::int64_t n = 1);
  // Adds all counts of `other`.
  void Merge(const DataQuality& other);

  // The row of a kind, and its count alone.
  [[nodiscard]] const Row& Get(QualityId id) const { return rows_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] std::int64_t CountOf(QualityId id) const { return Get(id).count; }

 private:
  Row& At(QualityId id) { return rows_[static_cast<std::size_t>(id)]; }
  std::array<Row, kQualityCount> rows_;
};

// One line for people: the table's sentence, the names and the first place.
std::string Describe(const QualityInfo& info, const DataQuality::Row& row);

}  // namespace idleburn
