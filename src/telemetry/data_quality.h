#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace idleburn {

// Everything doubtful that was met and how it was treated. A row of kQualityTable each.
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
  kCount,  // how many there are
};
inline constexpr auto kQualityCount = static_cast<std::size_t>(QualityId::kCount);

enum class Severity : std::uint8_t { kInfo, kWarn, kError };
std::string_view Name(Severity s);

struct QualityInfo {
  QualityId id;
  std::string_view name;
  Severity severity;
  std::string_view sentence;  // what it means for the figures, for people
};
extern const std::array<QualityInfo, kQualityCount> kQualityTable;

// Where in an input something was seen. `line` 0: the whole file.
struct Place {
  const std::string* file = nullptr;
  std::int64_t line = 0;
};

// Counts of doubtful data. Cheap to bump; keeps the first place and up to 12 names per row.
class DataQuality {
 public:
  struct Row {
    std::int64_t count = 0;
    std::string first_place;      // "file:line", empty when the input has no lines
    std::set<std::string> names;  // of unknown columns or metrics
  };

  void Count(QualityId id, Place place = {}, std::int64_t n = 1);
  // As Count, and remembers the name it happened to.
  void CountNamed(QualityId id, std::string_view name, Place place = {}, std::int64_t n = 1);
  void Merge(const DataQuality& other);

  [[nodiscard]] const Row& Get(QualityId id) const { return rows_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] std::int64_t CountOf(QualityId id) const { return Get(id).count; }

 private:
  Row& At(QualityId id) { return rows_[static_cast<std::size_t>(id)]; }
  std::array<Row, kQualityCount> rows_;
};

// One line for people: the table's sentence, the names and the first place.
std::string Describe(const QualityInfo& info, const DataQuality::Row& row);

}  // namespace idleburn
