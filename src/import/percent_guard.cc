#include "import/percent_guard.h"

#include <algorithm>
#include <bit>

#include "import/metric_table.h"
#include "telemetry/sample.h"
#include "text/escape.h"

namespace idleburn {
namespace {

constexpr std::uint32_t kShares = Bit(Signal::kUtilization) | Bit(Signal::kMemoryUtilization) |
                                  Bit(Signal::kEncoderUtilization) | Bit(Signal::kDecoderUtilization) |
                                  Bit(Signal::kGrEngineActive);

// Counters that are named with their unit ("%") where their values stand.
constexpr std::string_view kUnitWritten[] = {
    "nvidia_smi.", "nvidia_smi_xml.", "nvidia_smi_dmon.", "nvidia_smi_pmon.", "nvidia_smi_compute_apps.",
    "rocm_smi.",   "dcgmi."};
// Columns of the user's own, which have a check of their own.
constexpr std::string_view kColumns[] = {"csv.", "parquet."};

template <std::size_t kCount>
bool StartsWithOneOf(const std::string_view (&prefixes)[kCount], std::string_view name) {
  return std::any_of(std::begin(prefixes), std::end(prefixes),
                     [name](std::string_view prefix) { return name.starts_with(prefix); });
}

std::string_view FieldName(std::string_view counter) { return counter.substr(counter.find('.') + 1); }

}  // namespace

PercentGuard::Field PercentGuard::Describe(const std::string& counter, Signal signal) const {
  Field field;
  const Metric* metric = FindCounter(counter);
  field.percent = metric != nullptr ? metric->scale == Scale::kPercentage
                                    : signal != Signal::kGrEngineActive && !StartsWithOneOf(kColumns, counter);
  field.unit_written = StartsWithOneOf(kUnitWritten, counter);
  auto said = options_.units.find(std::string(FieldName(counter)));
  if (said == options_.units.end()) said = options_.units.find("");
  field.said = said != options_.units.end();
  field.ratio = field.percent && field.said && said->second == PercentUnit::kOne;
  return field;
}

PercentGuard::Field& PercentGuard::FieldOf(DeviceId device, Signal signal) {
  const std::string& counter = devices_[devices_.Home(device, signal)].counter[Index(signal)];
  const auto known = fields_.find(counter);
  return known != fields_.end() ? known->second : fields_.emplace(counter, Describe(counter, signal)).first->second;
}

bool PercentGuard::See(const Sample& sample, Signal signal) {
  Field& field = FieldOf(sample.device, signal);
  const std::int64_t value = sample.Get(signal);
  field.fraction = field.fraction || value % kPercent != 0;
  field.most = std::max(field.most, value);
  const bool settled = !field.ratio && (!field.percent || field.most > kPercent);
  if (settled) settled_[sample.device] |= Bit(signal);
  return field.ratio;
}

void PercentGuard::OnSamples(std::span<const Sample> samples) {
  bool changed = false;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Sample& sample = samples[i];
    if (sample.device >= settled_.size()) settled_.resize(sample.device + 1, ~kShares);
    for (std::uint32_t open = sample.present & ~settled_[sample.device]; open != 0; open &= open - 1) {
      const auto signal = static_cast<Signal>(std::countr_zero(open));
      if (!See(sample, signal)) continue;
      if (!changed) changed_.assign(samples.begin(), samples.end());
      changed = true;
      SetInRange(signal, static_cast<Int128>(sample.Get(signal)) * 100, changed_[i]);
    }
  }
  next_.OnSamples(changed ? std::span<const Sample>(changed_) : samples);
}

Result<void> PercentGuard::Check(const std::string& file, DataQuality& quality) const {
  for (const auto& [counter, field] : fields_) {
    const std::string name = Printable(FieldName(counter));
    if (field.ratio && field.most > kPercent + kPercent / 200) {
      return Fail(file + ": " + name +
                  " exceeds 1, so it is no ratio; say --unit NAME=ratio of the fields that are one");
    }
    if (!field.percent || field.said || field.most > kPercent) continue;
    if (field.fraction) {
      return Fail(file + ": " + name + " has fractions and never exceeds 1: ratio or percent? Say --unit ratio or " +
                  "--unit percent");
    }
    if (field.most == kPercent && !field.unit_written) {
      quality.CountNamed(QualityId::kScaleUnproven, name, {&file, 0});
    }
  }
  return {};
}

}  // namespace idleburn
