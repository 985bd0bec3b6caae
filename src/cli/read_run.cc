#include "cli/read_run.h"

#include <algorithm>
#include <filesystem>

#include "cli/progress.h"
#include "os/input_file.h"
#include "telemetry/time_sorter.h"

namespace idleburn {
namespace {

// An input and the importer for it.
struct Opened {
  std::unique_ptr<PeekSource> source;
  const Importer* importer = nullptr;
};

// Passes samples on and notes whether they are dated. What carries no times begins at second 0 of 1970.
class DateWatch final : public SampleSink {
 public:
  explicit DateWatch(SampleSink& next) : next_(next) {}

  void OnSamples(std::span<const Sample> samples) override {
    constexpr std::int64_t kYear = 365 * 24 * kNanosPerHour;
    for (const Sample& s : samples) (s.time.nanos() < kYear ? undated_ : dated_) = true;
    next_.OnSamples(samples);
  }
  [[nodiscard]] bool undated() const { return undated_; }
  [[nodiscard]] bool dated() const { return dated_; }

 private:
  SampleSink& next_;
  bool undated_ = false;
  bool dated_ = false;
};

std::string KnownFormats() {
  std::string names;
  for (const Importer& importer : Importers()) names += (names.empty() ? "" : ", ") + std::string(importer.name);
  return names;
}

// Bytes that an input will deliver; 0 where that is not known: a pipe, a compressed file.
std::uintmax_t PlainSize(const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension().string();
  if (ending == ".gz" || ending == ".xz" || ending == ".zst") return 0;
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

Result<Opened> Open(const std::string& path, const ImportOptions& options, bool show_progress) {
  Result<std::unique_ptr<ByteSource>> file = OpenInput(path);
  if (!file) return tl::unexpected<Error>(file.error());
  if (show_progress) *file = WithProgress(std::move(*file), PlainSize(path));
  Opened opened;
  opened.source = std::make_unique<PeekSource>(std::move(*file));
  const Result<std::string_view> head = opened.source->Peek(kSniffBytes);
  if (!head) return tl::unexpected<Error>(head.error());
  for (const Importer& importer : Importers()) {
    if (importer.by_columns && options.columns.empty()) continue;
    if (importer.sniff(*head)) {
      opened.importer = &importer;
      return opened;
    }
  }
  const bool text = head->find('\0') == std::string_view::npos;
  return Fail(opened.source->name() + ": " +
              (text ? "is text of no known format" : "is binary data of no known format") + "; idleburn reads " +
              KnownFormats() + " (other CSV: say --columns time=...,util=...)");
}

}  // namespace

Result<std::unique_ptr<RunInputs>> ReadRun(std::vector<std::string> paths, const ImportOptions& options,
                                           const Thresholds& thresholds, RunClassifier::FactsByName facts,
                                           bool show_progress) {
  std::sort(paths.begin(), paths.end());
  auto inputs = std::make_unique<RunInputs>();
  RunClassifier classifier(thresholds, inputs->devices, inputs->quality, facts);
  TimeSorter sorter(inputs->devices, inputs->quality);
  bool sorting = paths.size() > 1;
  bool dated = false;
  std::string undated;  // the first input without times
  for (const std::string& path : paths) {
    Result<Opened> opened = Open(path, options, show_progress);
    if (!opened) return tl::unexpected<Error>(opened.error());
    sorting = sorting || !opened->importer->in_order;
    SampleSink& sink = sorting ? static_cast<SampleSink&>(sorter) : classifier;
    DateWatch watch(sink);
    ImportTarget target{inputs->devices, inputs->quality, inputs->owners, paths.size() > 1 ? watch : sink};
    TRY(opened->importer->import(*opened->source, options, target));
    dated = dated || watch.dated();
    if (undated.empty() && watch.undated()) undated = path;
    if (opened->source->truncated()) inputs->quality.Count(QualityId::kTruncatedInput, {&path, 0});
  }
  if (dated && !undated.empty()) {
    return Fail(undated + ": carries no dates, so it has no place on the clock of the other inputs; record it with " +
                "times, or audit it alone");
  }
  if (sorting) TRY(sorter.Deliver(classifier));
  inputs->run = classifier.Finish();
  if (inputs->run.devices.empty()) return Fail(paths.front() + ": holds no reading of any GPU; nothing to audit");
  return inputs;
}

}  // namespace idleburn
