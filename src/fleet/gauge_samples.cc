#include "fleet/gauge_samples.h"

#include <algorithm>
#include <array>

#include "import/gauge_series.h"
#include "os/digest.h"
#include "os/folder.h"
#include "text/number.h"
#include "text/time_zone.h"

// The audit reads files, and an engine answers questions. So the answers are written to a file and audited as if a user
// had saved them: there is one importer, one classifier and one bill.
//
// An audit knows the phases of a GPU, and of an owner only how long it held the GPU. But the question of a fleet is
// which job wasted what. So a second file tells the same samples with a device per GPU and owner, and the same
// classifier says what each of them did:
//
//     DCGM_FI_DEV_GPU_UTIL{UUID="GPU-5f3a", hpc_job="7"} 97   ->   DCGM_FI_DEV_GPU_UTIL{UUID="GPU-<of 5f3a and 7>"} 97

namespace idleburn {
namespace {

constexpr std::int64_t kGaugeHour = 3600;
constexpr std::int64_t kGaugeStep = 300;
// A month of a large fleet has hundreds of thousands of pairs of a GPU and an owner, and a classifier holds about 0.5
// MB for each. So each file has a part of them.
constexpr std::size_t kOwnerFiles = 256;
// An engine that lets so many of the smallest parts run out of time, one after another, does not work.
constexpr int kMostLate = 3;
constexpr std::array<std::string_view, 3> kReplicaLabels = {"replica", "prometheus_replica", "__replica__"};

// Reads the samples of a window into the two files.
class GaugeReader {
 public:
  GaugeReader(Engine& engine, const GaugeQuestion& question, GaugeSamples* samples)
      : engine_(engine), question_(question), samples_(*samples) {}

  Result<void> Open() {
    samples_.answers = samples_.folder.path() + "/answers.json";
    answers_ = TRY(AppendFile::Create(samples_.answers, kPrivateFile));
    return {};
  }

  Result<void> ReadAll() {
    for (std::int64_t from = question_.from; from < question_.to; from += kGaugeHour) {
      const std::int64_t to = std::min(from + kGaugeHour, question_.to);
      for (const std::string& metric : question_.metrics) TRY(ReadPart(metric, from, to));
    }
    if (samples_.samples > 0) return {};
    if (refused_) return tl::unexpected<Error>(*refused_);
    return Fail(engine_.facts().url + ": no sample of a GPU's utilization from " + FormatUnixTime(question_.from) +
                " to " + FormatUnixTime(question_.to) + "; choose another window");
  }

 private:
  Result<void> ReadPart(const std::string& metric, std::int64_t from, std::int64_t to) {
    EngineTrouble trouble;
    const Result<EngineAnswer> answer = engine_.Samples(metric, from, to, &trouble);
    if (answer) {
      late_ = 0;
      return Take(metric, *answer);
    }
    if (!trouble.too_much) return tl::unexpected<Error>(answer.error());
    if (const std::optional<std::int64_t> half = HalfOf(from, to)) {
      TRY(ReadPart(metric, from, *half));
      return ReadPart(metric, *half, to);
    }
    refused_ = answer.error();
    late_ = trouble.late ? late_ + 1 : 0;
    if (late_ == kMostLate) return tl::unexpected<Error>(answer.error());
    std::vector<MissingGauge>& missing = samples_.missing;
    const auto before = std::find_if(missing.begin(), missing.end(), [&](const MissingGauge& other) {
      return other.metric == metric && other.to == from;
    });
    if (before == missing.end()) {
      missing.push_back({metric, from, to});
    } else {
      before->to = to;
    }
    return {};
  }

  Result<void> Take(const std::string& name, const EngineAnswer& answer) {
    const std::vector<JsonNode> all = answer.data.GetItems("result");
    if (all.empty()) return {};
    TRY(answers_->Append(answer.body));
    TRY(answers_->Append("\n"));
    for (const JsonNode& series : all) TRY(TakeSeries(name, series));
    return {};
  }

  // Writes the samples of one series for the owner that its labels name.
  Result<void> TakeSeries(const std::string& name, const JsonNode& series) {
    std::vector<std::pair<std::string, std::string>> labels;
    if (const std::optional<JsonNode> named = series.Get("metric")) {
      for (const auto& [label, value] : named->Members()) labels.emplace_back(label, value.Text());
    }
    for (const auto& [label, value] : labels) {
      const bool replica = std::find(kReplicaLabels.begin(), kReplicaLabels.end(), label) != kReplicaLabels.end();
      if (replica) samples_.replicas.insert(value);
    }
    const GaugeSeries known = GaugeSeriesOf(name, labels);
    if (!known.reading) return {};
    std::map<std::size_t, std::string> texts;  // by file
    std::string* text = nullptr;
    std::string last_owner;
    std::string begin;
    for (const JsonNode& pair : series.GetItems("values")) {
      const std::vector<JsonNode> both = pair.Items();
      const ScaledNumber stamp = both.size() == 2 ? ParseScaled(both[0].Text(), 3) : ScaledNumber();
      if (both.size() != 2 || stamp.fault != NumberFault::kNone) continue;  // the audit counts it as a bad row
      const std::string owner = question_.allocation.OwnerAt(
          OwnerAt(known.owner, stamp.value * 1'000'000, question_.jobs), known.gpu.host, stamp.value / 1000);
      if (text == nullptr || owner != last_owner) {
        const GpuHold held{known.gpu, owner};
        const std::string uuid = HeldUuid(held);
        samples_.held.emplace(uuid, held);
        if (!owner.empty() && owner == known.owner) samples_.labelled.insert(uuid);
        begin = name + "{UUID=\"" + uuid + "\"} ";
        text = &texts[FileOf(uuid)];
        last_owner = owner;
      }
      text->append(begin).append(both[1].Text()).append(" ").append(std::to_string(stamp.value)).append("\n");
      ++samples_.samples;
    }
    for (const auto& [file, its] : texts) TRY(Append(file, its));
    return {};
  }

  // The number of a file by the first bits of the UUID, which are those of a digest.
  static std::size_t FileOf(const std::string& uuid) {
    constexpr std::size_t kPrefix = std::string_view("GPU-").size();
    return std::stoul(uuid.substr(kPrefix, 2), nullptr, 16) % kOwnerFiles;
  }

  Result<void> Append(std::size_t file, const std::string& text) {
    std::unique_ptr<AppendFile>& open = by_owner_[file];
    if (open == nullptr) {
      const std::string path = samples_.folder.path() + "/owners-" + std::to_string(file) + ".prom";
      open = TRY(AppendFile::Create(path, kPrivateFile));
      samples_.by_owner.push_back(path);
    }
    return open->Append(text);
  }

  Engine& engine_;
  const GaugeQuestion& question_;
  GaugeSamples& samples_;
  std::unique_ptr<AppendFile> answers_;
  std::array<std::unique_ptr<AppendFile>, kOwnerFiles> by_owner_;
  std::optional<Error> refused_;
  int late_ = 0;
};

}  // namespace

Result<std::vector<std::string>> GaugesIn(Engine& engine, std::int64_t from, std::int64_t to) {
  std::string pattern;
  std::map<std::string, bool> known;  // whether it tells utilization, by name
  for (const GaugeName& gauge : FleetGauges()) {
    pattern += (pattern.empty() ? "" : "|") + gauge.name;
    known.emplace(gauge.name, gauge.utilization);
  }
  std::vector<std::string> names = TRY(engine.MetricNames(pattern, from, to));
  std::erase_if(names, [&](const std::string& name) { return known.count(name) == 0; });
  if (std::any_of(names.begin(), names.end(), [&](const std::string& name) { return known.at(name); })) return names;
  return Fail(engine.facts().url +
              ": no GPU utilization in the window, neither of `idleburn agent` nor of dcgm-exporter, "
              "nvidia_gpu_exporter, nvitop-exporter, all-smi, jobstats or dynolog; run `idleburn agent` on each node");
}

Result<GaugeSamples> ReadGauges(Engine& engine, const GaugeQuestion& question) {
  GaugeSamples samples{TRY(ScratchFolder::Make("")), {}, {}, {}, {}, {}, 0, {}};
  GaugeReader reader(engine, question, &samples);
  TRY(reader.Open());
  TRY(reader.ReadAll());
  return samples;
}

std::optional<std::int64_t> HalfOf(std::int64_t from, std::int64_t to) {
  const std::int64_t steps = (to - from + kGaugeStep - 1) / kGaugeStep;
  return steps < 2 ? std::nullopt : std::optional(from + steps / 2 * kGaugeStep);
}

std::string OwnerAt(const std::string& owner, std::int64_t time_ns, const JobTimes& jobs) {
  constexpr std::string_view kJob = "job ";
  if (!owner.starts_with(kJob)) return owner;
  const std::vector<JobTimes::Run>* runs = jobs.Of(std::string_view(owner).substr(kJob.size()));
  const bool ran = runs == nullptr || std::any_of(runs->begin(), runs->end(), [time_ns](const JobTimes::Run& run) {
                     return run.from <= time_ns && time_ns < run.to;
                   });
  return ran ? owner : "";
}

std::string HeldUuid(const GpuHold& held) {
  const DeviceKey& gpu = held.gpu;
  // A zero byte stands in no label, so two different keys give two texts.
  std::string key = NormalUuid(gpu.uuid);
  if (key.empty() || IsMaskedUuid(key)) {
    key = gpu.host + '\0' + gpu.bus_id + '\0' + (gpu.index ? std::to_string(*gpu.index) : "");
  }
  const std::string hex = Sha256Hex(key + '\0' + (gpu.mig ? gpu.mig->id : "") + '\0' + held.owner);
  std::string uuid = "GPU-" + hex.substr(0, 8);
  for (std::size_t at = 8; at < 20; at += 4) uuid += "-" + hex.substr(at, 4);
  return uuid + "-" + hex.substr(20, 12);
}

}  // namespace idleburn
