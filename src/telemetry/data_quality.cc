#include "telemetry/data_quality.h"

namespace idleburn {
namespace {

// Bounds on names, because a file may have thousands of unknown columns with names of any length.
constexpr std::size_t kNamesKept = 12;
constexpr std::size_t kLongestName = 240;

}  // namespace

using Q = QualityId;
using S = Severity;

// Keep the wording as facts about the input, then the effect on the figures.
const std::array<QualityInfo, kQualityCount> kQualityTable = {{
    {Q::kDuplicateRow, "duplicate_row", S::kInfo,
     "{rows|row} repeated a GPU and a time already read; each time counts once"},
    {Q::kOutOfOrder, "out_of_order", S::kWarn,
     "{rows were|row was} older than the row before; {they were|it was} dropped"},
    {Q::kClockStep, "clock_step", S::kWarn,
     "{times|time} the wall clock jumped; the interval is unobserved and durations do not change"},
    {Q::kTornRow, "torn_row", S::kInfo,
     "{rows were|row was} cut off at the end of the input, or in a sweep with missing rows; {they were|it was} "
     "dropped"},
    {Q::kBadRow, "bad_row", S::kWarn, "{rows or cells|row or cell} could not be read; {they were|it was} dropped"},
    {Q::kOutOfRange, "out_of_range", S::kWarn,
     "{readings|reading} lay outside the possible range; {they count|it counts} as unobserved"},
    {Q::kNotFinite, "not_finite", S::kWarn,
     "{readings were|reading was} NaN or infinite; {they count|it counts} as unobserved"},
    {Q::kSentinelValue, "sentinel", S::kInfo,
     "{readings were|reading was} a source's code for 'no value'; {they count|it counts} as unobserved"},
    {Q::kUnavailableValue, "unavailable", S::kInfo,
     "{cells|cell} said that the value is not available; {they count|it counts} as missing"},
    {Q::kUnknownColumn, "unknown_column", S::kInfo, "{columns are|column is} not used"},
    {Q::kUnknownMetric, "unknown_metric", S::kInfo,
     "{samples of metrics that are|sample of a metric that is} not used"},
    {Q::kTimezoneAssumed, "timezone_assumed", S::kWarn,
     "{inputs have|input has} times without a zone, read as UTC; --timezone changes that"},
    {Q::kTimezoneAmbiguous, "timezone_ambiguous", S::kWarn,
     "local {times fall|time falls} into an hour that daylight saving repeats or skips; idleburn went by the order of "
     "rows, else by the first meaning"},
    {Q::kSharedCopies, "shared_copies", S::kInfo,
     "{samples were copies|sample was a copy} of one device's value, for several owners or in several inputs; each "
     "device and time counts "
     "once"},
    {Q::kMaskedUuid, "masked_uuid", S::kInfo,
     "{devices have|device has} an all-zero UUID; idleburn tells {them|it} apart by bus id or index"},
    {Q::kIndexRemapped, "index_remapped", S::kWarn,
     "{times|time} a GPU index moved to another UUID; time follows the UUID"},
    {Q::kInferredIdentity, "inferred_identity", S::kWarn,
     "{inputs name|input names} no GPU; GPUs are told apart by the order of rows in each sweep"},
    {Q::kMovedGpu, "moved_gpu", S::kWarn,
     "{GPUs were|GPU was} recorded on one machine and later on another, never on both at the same time; {each|it} "
     "counts as one GPU that moved"},
    {Q::kCounterReset, "counter_reset", S::kInfo,
     "{times|time} a counter fell back (driver reload or GPU reset); the new value counts as the increase"},
    {Q::kInvalidProfilingCounter, "invalid_profiling_counter", S::kWarn,
     "{devices|device} had a profiling counter stuck at 0 while busy; {their|its} profiling counters are not used"},
    {Q::kMislabelledCounter, "mislabelled_counter", S::kInfo,
     "{metrics are declared counters but carry|metric is declared a counter but carries} a rate; read as a gauge"},
    {Q::kTruncatedInput, "truncated_input", S::kWarn,
     "{inputs end|input ends} before {their|its} last record (cut off, or copied in part); the part before counts"},
    {Q::kJobResolution, "job_resolution", S::kWarn,
     "{inputs give|input gives} averages over a whole job; averages do not show phases per second"},
    {Q::kSingleSample, "single_sample", S::kWarn,
     "{devices have|device has} only one sample; a single reading covers no time"},
    {Q::kPeriodEstimated, "period_estimated", S::kInfo,
     "{logs or devices do|log or device does} not say when {they were|it was} read; a period was assumed (set it with "
     "--period)"},
    {Q::kUnitAssumed, "unit_assumed", S::kInfo, "{columns carry|column carries} no unit; the usual one was assumed"},
    {Q::kPriceRounded, "price_rounded", S::kInfo,
     "{prices had more than nine decimals and were|price had more than nine decimals and was} rounded half to even"},
    {Q::kPriceStale, "price_stale", S::kWarn, "{prices are|price is} older than 90 days; check {them|it}"},
    {Q::kFailedScrape, "failed_scrape", S::kWarn, "{scrapes|scrape} failed; {their|its} time is unobserved"},
    {Q::kXidSeen, "xid_seen", S::kWarn, "{devices|device} reported an Xid error; see the driver log"},
    {Q::kProcessDetail, "process_detail", S::kInfo,
     "per-process {rows show|row shows} which process holds memory; without time stamps {they cover|it covers} no "
     "time"},
    {Q::kLateCounter, "late_counter", S::kWarn,
     "{readings|reading} of a second counter for a signal came after idleburn had chosen another; {they are|it is} not "
     "used"},
    {Q::kNoTimestamp, "no_timestamp", S::kWarn,
     "{inputs or records carry|input or record carries} no date or no time; one was assumed, so {they|it} cannot be "
     "joined with other inputs"},
    {Q::kUnknownEvent, "unknown_event", S::kInfo, "{events of kinds that are|event of a kind that is} not used"},
    {Q::kSharedDeviceNumber, "shared_device_number", S::kWarn,
     "{devices have|device has} a number that several processes use; {they count|it counts} as one GPU, but may be "
     "several"},
    {Q::kNegativeDuration, "negative_duration", S::kWarn,
     "{events end before they start; they count as instants|event ends before it starts; it counts as an instant}"},
    {Q::kLongDuration, "long_duration", S::kWarn,
     "{events last|event lasts} longer than a week; {they were|it was} dropped"},
    {Q::kRoundedTime, "rounded_time", S::kInfo,
     "{times are|time is} finer than a nanosecond; {they were|it was} rounded"},
    {Q::kUnpairedRange, "unpaired_range", S::kWarn,
     "{ranges have|range has} no begin or no end; {they were|it was} dropped"},
    {Q::kUnclosedProfile, "unclosed_profile", S::kWarn,
     "{profiles end before their|profile ends before its} last bracket; the part before counts, and missing events "
     "prove nothing"},
    {Q::kLostBytes, "lost_bytes", S::kWarn,
     "{bytes of profiles belong|byte of a profile belongs} to no whole event; {they were|it was} dropped"},
    {Q::kTooLongEvent, "too_long_event", S::kWarn,
     "{events of profiles are|event of a profile is} longer than 16 MiB; {they were|it was} dropped"},
    {Q::kAmbiguousLaunch, "ambiguous_launch", S::kWarn,
     "device {events|event} could have been launched by several processes or calls; idleburn does not say what "
     "{they|it} waited for"},
    {Q::kProfilerWarning, "profiler_warning", S::kInfo,
     "{warnings|warning} from the profiler: its record may be incomplete"},
    {Q::kNarrowLink, "narrow_link", S::kWarn,
     "{GPUs use fewer PCIe lanes than they support, so copies to them|GPU uses fewer PCIe lanes than it supports, so "
     "copies to it} take longer; check slot, riser and BIOS"},
    {Q::kGpusLeftOut, "gpus_left_out", S::kInfo,
     "{GPUs of the machine were|GPU of the machine was} not visible to the command and {are|is} left out (--all-gpus "
     "counts {them|it} too)"},
    {Q::kGpusUnclear, "gpus_unclear", S::kWarn,
     "{times|time} idleburn could not tell which GPUs the command could see; all GPUs of the machine count"},
    {Q::kGpusFailed, "gpus_failed", S::kWarn,
     "{GPUs|GPU} of the machine did not answer when measuring began; {their|its} time and cost are not in the figures"},
    {Q::kMixedCounters, "mixed_counters", S::kWarn,
     "{readings of a second counter for a signal were|reading of a second counter for a signal was} left out; idleburn "
     "never mixes counters in one series"},
    {Q::kUnsizedInstance, "unsized_instance", S::kError,
     "MIG {instances are|instance is} left out, because no input gives {their size|its size}; add "
     "GPU_I_ID and GPU_I_PROFILE "
     "with the UUID of the board, as dcgm-exporter writes them"},
    {Q::kOwnerGaps, "owner_gaps", S::kWarn,
     "{gaps without a named owner are|gap without a named owner is} beyond the 4,096 that idleburn keeps per owner and "
     "device; {they count|it counts} as the owner's time"},
    {Q::kDifferingReadings, "differing_readings", S::kWarn,
     "{times|time} a scrape had several values for one GPU, such as a total and its owners' parts; the largest of each "
     "signal counts"},
    {Q::kScaleUnproven, "scale_unproven", S::kWarn,
     "percent {fields hold|field holds} only 0 and 1, read as 0 % and 1 %; give --unit ratio if 1 means 100 %"},
    {Q::kQueryWarning, "query_warning", S::kWarn, "{warnings|warning} from Prometheus about its answer"},
    {Q::kEvenGrid, "even_grid", S::kWarn,
     "{inputs have|input has} time stamps on an even grid, as query_range writes them; a value may repeat a scrape up "
     "to 5 minutes old. Query METRIC[1h] to get the scrapes themselves"},
    {Q::kInstantQuery, "instant_query", S::kWarn,
     "{inputs hold|input holds} one reading of each series, which covers no time; query a range instead: METRIC[1h]"},
    {Q::kFileNotRead, "file_not_read", S::kInfo, "{files of a folder were|file of a folder was} not read"},
    {Q::kOwnerOutlivesJob, "owner_outlives_job", S::kWarn,
     "{labels name|label names} a job before its start or after its end in the scheduler's list; that time has no "
     "owner"},
    {Q::kMissingChunk, "missing_chunk", S::kWarn,
     "{parts of a recording (a minute each at most) are|part of a recording (a minute at most) is} missing from its "
     "file; that time is unobserved, where the rest of the file shows when it was"},
    {Q::kUnclosedRecording, "unclosed_recording", S::kWarn,
     "{recordings have|recording has} no end: the recorder was killed, or the file was cut or copied while it was "
     "written; the audit ends at the last reading"},
    {Q::kUnwrittenRecording, "unwritten_recording", S::kError,
     "{recordings are|recording is} incomplete: {they lack|it lacks} readings that this report counts"},
    {Q::kMeasuringFailed, "measuring_failed", S::kError,
     "{parts|part} of idleburn's measuring failed; {their|its} readings are unobserved"},
    {Q::kInvalidUtilization, "invalid_utilization", S::kWarn,
     "{devices|device} read 0 % for a minute or longer at a power that no idle board draws: the counter is broken, so "
     "this time is unobserved"},
    {Q::kCoarseStamps, "coarse_stamps", S::kInfo,
     "{time stamps have|time stamp has} several different readings of one GPU; their mean counts, and changes within "
     "{them|it} are unknown"},
    {Q::kOutsideWindow, "outside_window", S::kInfo, "{rows lie|row lies} outside --window; no figure counts {them|it}"},
    {Q::kSeenInPart, "seen_in_part", S::kWarn,
     "{GPUs have|GPU has} rows in only a part of a run; {each is|it is} billed from its first row to its last. If you "
     "paid for a longer time, --window START..END bills all of it and counts the rest as unobserved"},
}};

std::string_view Name(Severity s) {
  constexpr std::array<std::string_view, 3> kNames = {"info", "warn", "error"};
  return kNames[static_cast<std::size_t>(s)];
}

void DataQuality::Count(QualityId id, Place place, std::int64_t n) {
  if (n == 0) return;
  Row& row = At(id);
  if (row.count == 0 && place.file != nullptr) {
    row.first_place = *place.file;
    if (place.line > 0) row.first_place += ":" + std::to_string(place.line);
  }
  row.count += n;
}

void DataQuality::CountNamed(QualityId id, std::string_view name, Place place, std::int64_t n) {
  Count(id, place, n);
  Row& row = At(id);
  if (row.names.size() >= kNamesKept) return;
  row.names.insert(name.size() <= kLongestName ? std::string(name) : std::string(name.substr(0, kLongestName)) + "...");
}

void DataQuality::Merge(const DataQuality& other) {
  for (std::size_t i = 0; i < kQualityCount; ++i) {
    Row& row = rows_[i];
    const Row& from = other.rows_[i];
    if (row.count == 0) row.first_place = from.first_place;
    row.count += from.count;
    for (const std::string& name : from.names) {
      if (row.names.size() < kNamesKept) row.names.insert(name);
    }
  }
}

namespace {

// Selects the plural or the singular form: "{rows were|row was} dropped".
std::string InNumber(std::string_view sentence, bool many) {
  std::string text;
  for (std::size_t open = sentence.find('{'); open < sentence.size(); open = sentence.find('{')) {
    const std::size_t bar = sentence.find('|', open);
    const std::size_t close = sentence.find('}', bar);
    text += sentence.substr(0, open);
    text += many ? sentence.substr(open + 1, bar - open - 1) : sentence.substr(bar + 1, close - bar - 1);
    sentence.remove_prefix(close + 1);
  }
  return text + std::string(sentence);
}

}  // namespace

std::string Describe(const QualityInfo& info, const DataQuality::Row& row) {
  std::string text = std::to_string(row.count) + " " + InNumber(info.sentence, row.count != 1);
  if (!row.names.empty()) {
    text += ": ";
    bool first = true;
    for (const std::string& name : row.names) {
      if (!first) text += ", ";
      text += name;
      first = false;
    }
    if (row.names.size() == kNamesKept) text += ", ...";
  }
  if (!row.first_place.empty()) text += " (first at " + row.first_place + ")";
  return text;
}

}  // namespace idleburn
