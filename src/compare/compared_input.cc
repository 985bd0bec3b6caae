#include "compare/compared_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "audit/audit_plan.h"
#include "audit/classify_run.h"
#include "audit/keep_run.h"
#include "audit/open_input.h"
#include "audit/read_run.h"
#include "audit/recorded_work.h"
#include "os/digest.h"
#include "os/input_file.h"
#include "price/find_rate.h"
#include "price/gpu_time.h"
#include "telemetry/recording.h"
#include "telemetry/run_facts.h"
#include "text/number.h"
#include "text/secrets.h"
#include "text/strings.h"
#include "verify/reversion.h"

// Reads one input of a comparison, whatever it is, into the same form: runs with GPU-seconds, work and static factors.
// The judge sees nothing else, so it treats a CSV and a recording alike. The second half finds what a GPU-hour of the
// inputs cost, by the same rates that an audit of them would use.

namespace idleburn {
namespace {

// The facts of a recording that become static factors, under the same keys.
constexpr std::array<const char*, 4> kFactFactors = {"command", "git.commit", "git.tree", "driver"};

// Separates the models in the factor gpu.model. ModelsOf splits at it again.
constexpr std::string_view kBetween = ", ";
constexpr const char* kModelFactor = "gpu.model";

// Adds model and number of GPUs to the factors. Unknown values are left out: an empty factor would differ from a known
// one, and the comparison would be INVALID.
void AddGpuFactors(const std::set<std::string>& models, int count, StaticFactors& factors) {
  if (!models.empty()) factors[kModelFactor] = ListText(models, kBetween);
  if (count > 0) factors["gpu.count"] = std::to_string(count);
}

// Fills in what readings tell of the devices: identity, allocated time, and the observed share. Returns the number of
// GPUs; a MIG instance counts as its share of the board.
Result<double> FillFromDevices(const RunInputs& inputs, ComparedInput& input, CountedRun& counted) {
  const Capacity capacity = TRY(CapacityOf(inputs.run, inputs.devices));
  MeasuredRun& run = counted.run;
  const auto window = static_cast<double>(capacity.whole.WindowNs());
  run.gpu_seconds = window / 1e9;
  if (window > 0) run.observed_fraction = static_cast<double>(capacity.whole.ObservedNs()) / window;
  if (IsDated(inputs.run.start)) {
    run.start = inputs.run.start;
    run.end = inputs.run.end;
    input.span = RunSpan{inputs.run.start, inputs.run.end};
  }
  std::set<std::string> models;
  // A clock that went back leaves its mark in the readings.
  std::int64_t clock_steps = 0;
  for (const DeviceResult& device : inputs.run.devices) {
    const Device& known = inputs.devices[device.device];
    if (!known.uuid.empty()) run.gpus.push_back(known.uuid);
    if (!known.name.empty()) models.insert(known.name);
    clock_steps += device.totals.clock_steps;
  }
  if (clock_steps > 0) {
    run.doubts.push_back({"clock_steps", "the wall clock went back while it was measured"});
  }
  AddGpuFactors(models, capacity.gpus, run.factors);
  double gpus = 0;
  for (const DeviceTime& device : capacity.devices) {
    gpus += device.gpu_share;
    input.gpus.push_back(device.device);
    input.gpu_nanos.push_back(device.time.WindowNs());
  }
  input.devices = inputs.devices;
  return gpus;
}

// Adds what only a recording has: work over time and facts of its command. Work needs a second pass over the file,
// because the first pass feeds the classifier.
Result<void> FillFromRecording(const std::string& path, const RunInputs& inputs, double gpus, CountedRun& counted) {
  const std::unique_ptr<ByteSource> file = TRY(OpenInput(path));
  DeviceTable devices;
  DataQuality quality;
  RecordedWork work;
  if (const auto read = ReadRecording(*file, devices, quality, work); !read) {
    return tl::unexpected<Error>(read.error());
  }
  work.Fill(gpus, counted);
  counted.run.telemetry = true;
  for (const char* fact : kFactFactors) {
    const std::string value = FactIn(inputs.summary.facts(), fact);
    if (!value.empty()) counted.run.factors[fact] = value;
  }
  return {};
}

// Reads a log, a recording or a capture. Only a recording tells how its command ended.
Result<ComparedInput> FromRun(const std::string& name, bool recording, const InputReading& reading) {
  std::shared_ptr<RunInputs> read = TRY(Read({name}, reading.options, reading.thresholds, reading.progress));
  TRY(ClassifyRun(*read));
  RunInputs& inputs = *read;
  ComparedInput input;
  input.kind = recording ? ComparedKind::kRecording : ComparedKind::kTelemetry;
  input.ids = IdsOf(inputs.summary.facts());
  if (inputs.trace) {
    input.kind = ComparedKind::kCapture;
    input.capture = std::move(read);
    return input;
  }
  // Only GPUs that the command could see belong to the run, as in an audit.
  LeaveOutHidden(inputs, false);
  if (!inputs.why_no_gpu.empty()) return Fail(name + ": no GPU to compare: " + inputs.why_no_gpu);
  CountedRun counted;
  const double gpus = TRY(FillFromDevices(inputs, input, counted));
  if (recording) TRY(FillFromRecording(name, inputs, gpus, counted));
  const std::string ended = FactIn(inputs.summary.facts(), "exit");
  if (!ended.empty() && ended != "exit 0") input.failure = ended;
  input.blocks.push_back({"", std::move(counted)});
  return input;
}

// Reads a CSV of work. It has no devices; its GPU-seconds are stated in it.
Result<ComparedInput> FromWorkLog(ByteSource& source) {
  WorkTable table = TRY(ReadWorkCsv(source));
  ComparedInput input;
  input.blocks = std::move(table.blocks);
  return input;
}

// Adds work that the user stated, where the input counts none. It belongs to the whole input, so the rows cannot be
// used: the share of each is unknown.
void AddStatedWork(const WorkDone& work, CountedRun& counted) {
  for (std::size_t u = 0; u < kWorkUnitCount; ++u) {
    const auto stated = work.units.find(std::string(kWorkUnitPlurals[u]));
    if (stated == work.units.end() || counted.total[u]) continue;
    counted.total[u] = static_cast<double>(stated->second) / static_cast<double>(WorkDone::kOne);
    counted.pieces.clear();
    counted.run.telemetry = false;
  }
}

// Reads --work, "[FILE:]samples=200000,...". The colon is searched before the "=", because a file name may contain
// both.
Result<void> TakeWork(const std::string& text, InputReading& reading) {
  const std::size_t equals = text.find('=');
  const std::size_t colon = equals == std::string::npos ? equals : text.rfind(':', equals);
  WorkDone work = TRY(ParseWork(colon == std::string::npos ? text : text.substr(colon + 1)));
  (colon == std::string::npos ? reading.work : reading.work_of[text.substr(0, colon)]) = std::move(work);
  return {};
}

// Reads --factor, "KEY=VALUE". A claim is passed around, so secrets are removed.
Result<void> TakeFactor(const std::string& text, StaticFactors& factors) {
  const std::size_t equals = text.find('=');
  const std::string key(Trim(text.substr(0, equals)));
  if (equals == std::string::npos || key.empty() || Trim(text.substr(equals + 1)).empty()) {
    return FailUsage("--factor: '" + text.substr(0, 40) + "' is not KEY=VALUE; write it like precision=bf16");
  }
  factors[key] = WithoutSecrets(Trim(std::string_view(text).substr(equals + 1)));
  return {};
}

}  // namespace

Result<InputReading> ReadingFrom(const Settings& settings, const std::vector<std::string>& factors,
                                 const std::vector<std::string>& work) {
  InputReading reading;
  reading.options = TRY(ImportOptionsFrom(settings));
  reading.thresholds = TRY(ThresholdsFrom(settings));
  for (const std::string& factor : factors) TRY(TakeFactor(factor, reading.factors));
  for (const std::string& text : work) TRY(TakeWork(text, reading));
  return reading;
}

Result<void> CheckWorkNames(std::string_view command, const InputReading& reading,
                            const std::vector<std::string>& names) {
  for (const auto& [name, work] : reading.work_of) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    return FailUsage(std::string(command) + ": --work '" + name.substr(0, 60) +
                     "': no run has this name; use the name that you gave, or leave it out for all runs");
  }
  return {};
}

std::vector<std::string> ModelsOf(std::span<const ComparedInput> inputs) {
  std::set<std::string> models;
  for (const ComparedInput& input : inputs) {
    for (const WorkTable::Block& block : input.blocks) {
      const auto factor = block.run.run.factors.find(kModelFactor);
      std::string_view names = factor == block.run.run.factors.end() ? std::string_view() : factor->second;
      while (!names.empty()) {
        const std::size_t end = std::min(names.find(kBetween), names.size());
        models.emplace(names.substr(0, end));
        names.remove_prefix(std::min(end + kBetween.size(), names.size()));
      }
    }
  }
  return {models.begin(), models.end()};
}

Result<ComparedInput> ReadComparedInput(const std::string& name, const InputReading& reading) {
  if (name == "-") return Fail("compare: standard input has no name; write it to a file");
  // A name may mean a run of the history; the report keeps the name, the hash is that of the file.
  const std::string path = TRY(reading.path_of ? reading.path_of(name) : Result<std::string>(name));
  const std::string hash = TRY(Sha256OfFile(path));
  std::unique_ptr<ByteSource> file = TRY(OpenInput(path, CountedBy(reading.progress)));
  // The first bytes decide what the file is. They must not be lost for the reader that is then chosen.
  PeekSource source(std::move(file));
  const std::string_view head = TRY(source.Peek(kSniffBytes));
  Result<ComparedInput> input = SniffWorkCsv(head) ? FromWorkLog(source) : FromRun(path, IsRecording(head), reading);
  if (!input) return input;
  input->name = name;
  input->sha256 = hash;
  const auto stated = reading.work_of.find(name);
  for (std::size_t i = 0; i < input->blocks.size(); ++i) {
    WorkTable::Block& block = input->blocks[i];
    MeasuredRun& run = block.run.run;
    // Reasons name runs, so the blocks of one file need different names.
    run.name = input->blocks.size() == 1 ? name : name + " block " + std::to_string(i + 1);
    run.sha256 = hash;
    run.factors.insert(reading.factors.begin(), reading.factors.end());
    AddStatedWork(stated == reading.work_of.end() ? reading.work : stated->second, block.run);
  }
  return input;
}

namespace {

// GPU-time at one rate.
struct PricedTime {
  Rate rate;
  Int128 nanos = 0;
};

// Adds time to its rate. Equal rates are merged, so a fleet of one price has one entry.
void Put(const Rate& rate, Int128 nanos, std::vector<PricedTime>& times) {
  const auto same = [&](const PricedTime& known) { return known.rate == rate; };
  auto at = std::find_if(times.begin(), times.end(), same);
  if (at == times.end()) at = times.insert(times.end(), PricedTime{rate, 0});
  at->nanos += nanos;
}

// The mean of rates that all have an amount, weighted by time and rounded once. It is the price of no product, so it
// has no key, date or offers. Example: 1 h at 2.00 and 3 h at 4.00 give 3.50.
Result<Rate> Mean(const std::vector<PricedTime>& times) {
  Rate mean = times.front().rate;
  Int128 cost = 0;
  Int128 all = 0;
  std::string sources;
  for (const PricedTime& time : times) {
    if (time.rate.currency != mean.currency) {
      return Fail("prices in " + mean.currency + " (" + times.front().rate.source + ") and in " + time.rate.currency +
                  " (" + time.rate.source + ") cannot be averaged; give all prices in one currency");
    }
    if (time.rate.kind != mean.kind) mean.kind = RateKind::kNone;
    mean.stale = mean.stale || time.rate.stale;
    cost += time.rate.per_gpu_hour->nano() * time.nanos;
    all += time.nanos;
    sources += fmt::format("{}{} for {:.6g} GPU-h ({})", sources.empty() ? "" : ", ",
                           FormatExact(*time.rate.per_gpu_hour, 2), InHours(time.nanos), time.rate.source);
  }
  // Without any time there is nothing to weigh by.
  if (all == 0) return OneRate({});
  mean.per_gpu_hour = TRY(Scale(Money::Nano(1), cost, all));
  mean.source = "mean over time: " + sources;
  mean.key.clear();
  mean.as_of.reset();
  mean.candidates.clear();
  return mean;
}

// The rates of the GPUs of one input. A log of work has no devices and names models at best, so it has one rate.
Result<RateCard> CardOf(const RateBook& book, const ComparedInput& input) {
  if (!input.gpus.empty()) return RatesOf(book, input.devices, input.gpus, input.span);
  Rate rate = TRY(RateOfModels(book, ModelsOf({&input, 1})));
  return RateCard(std::move(rate));
}

// Checks stated prices against all inputs together, since a price may be meant for one of them. A price that fits no
// input is an error. Returns the book to price each input with, in which a price that does not fit is no error any
// more.
Result<RateBook> Checked(const RateBook& book, std::initializer_list<std::span<const ComparedInput>> sides) {
  RateBook checked = book;
  for (const RateBook::Stated& stated : book.stated) {
    if (stated.gpus.all()) continue;  // fits any input
    checked.stated = {stated};
    std::optional<Error> why;
    bool meant = false;
    for (const std::span<const ComparedInput> side : sides) {
      for (const ComparedInput& input : side) {
        const Result<RateCard> card = CardOf(checked, input);
        meant = meant || card;
        if (!card) why = card.error();
      }
    }
    if (!meant && why) return tl::unexpected<Error>(*why);
  }
  checked.stated = book.stated;
  checked.must_apply = false;
  return checked;
}

// Adds the time of an input by its rates. An input with devices is priced as an audit would price it. Otherwise its
// stated GPU-seconds are used, up to what 64 bits of nanoseconds can hold.
Result<void> PutInput(const RateBook& book, const ComparedInput& input, std::vector<PricedTime>& times) {
  const RateCard card = TRY(CardOf(book, input));
  for (std::size_t i = 0; i < input.gpus.size(); ++i) Put(card.Of(input.gpus[i]), input.gpu_nanos[i], times);
  if (!input.gpus.empty()) return {};
  double seconds = 0;
  for (const WorkTable::Block& block : input.blocks) seconds += block.run.run.gpu_seconds;
  Put(card.rates().front(), static_cast<Int128>(std::llround(std::min(seconds, 9e9) * 1e6)) * 1000, times);
  return {};
}

// The one rate of all inputs, or their mean. Without a price for some of the time there is no amount either: a mean
// over the rest would be too high or too low.
Result<Rate> MeanOf(const RateBook& book, std::span<const ComparedInput> inputs) {
  std::vector<PricedTime> times;
  for (const ComparedInput& input : inputs) TRY(PutInput(book, input, times));
  if (times.empty()) return RateOfModels(book, {});
  std::vector<Rate> rates;
  for (const PricedTime& time : times) rates.push_back(time.rate);
  const bool priced = std::all_of(rates.begin(), rates.end(), [](const Rate& r) { return r.per_gpu_hour.has_value(); });
  return priced && rates.size() > 1 ? Mean(times) : Result<Rate>(OneRate(rates));
}

// The pairs of GPU model and number of GPUs among the runs.
std::set<std::pair<std::string, std::string>> MixesOf(std::span<const ComparedInput> inputs) {
  const auto value = [](const StaticFactors& factors, const char* key) {
    const auto found = factors.find(key);
    return found == factors.end() ? std::string() : found->second;
  };
  std::set<std::pair<std::string, std::string>> mixes;
  for (const ComparedInput& input : inputs) {
    for (const WorkTable::Block& block : input.blocks) {
      const StaticFactors& factors = block.run.run.factors;
      mixes.emplace(value(factors, "gpu.model"), value(factors, "gpu.count"));
    }
  }
  return mixes;
}

}  // namespace

Result<Rate> MeanRateOf(const RateBook& book, std::span<const ComparedInput> inputs) {
  const RateBook checked = TRY(Checked(book, {inputs}));
  return MeanOf(checked, inputs);
}

Result<SideRates> RatesOfSides(const RateBook& book, std::span<const ComparedInput> before,
                               std::span<const ComparedInput> after) {
  const RateBook checked = TRY(Checked(book, {before, after}));
  Rate rate_before = TRY(MeanOf(checked, before));
  Rate rate_after = TRY(MeanOf(checked, after));
  return SideRates{std::move(rate_before), std::move(rate_after)};
}

bool HaveSameGpus(std::span<const ComparedInput> before, std::span<const ComparedInput> after) {
  return MixesOf(before) == MixesOf(after);
}

namespace {

Result<std::vector<JobPair>> ReadJobs(const std::string& path) {
  const std::unique_ptr<ByteSource> file = TRY(OpenInput(path));
  return ReadJobsCsv(*file);
}

// Judges a table of jobs. A line through fewer than 3 jobs fits any data, so it proves nothing.
Result<ReversionReading> ReadingOf(const std::string& path, const std::vector<JobPair>& jobs, double level) {
  const std::optional<ReversionReading> reading = ReadReversion(jobs, level);
  if (reading) return *reading;
  return Fail(path +
              ": needs a selected job and 3 untouched jobs with different `before`, to estimate the expected change");
}

}  // namespace

Result<ReversionReport> ReadComparedJobs(const std::string& path, double level) {
  const std::vector<JobPair> jobs = TRY(ReadJobs(path));
  const ReversionReading reading = TRY(ReadingOf(path, jobs, level));
  const std::string hash = TRY(Sha256OfFile(path));
  return ReversionReport{path, hash, level, reading, IDLEBURN_VERSION, OwnIds()};
}

Result<ExpectedReversion> ReadExpectedReversion(const std::string& path) {
  std::vector<JobPair> jobs = TRY(ReadJobs(path));
  for (JobPair& job : jobs) {
    if (job.first <= 0 || job.second <= 0) {
      return Fail(path + ": has a value that is not above 0; with runs it holds the work of each job per GPU-hour");
    }
    // The comparison is about GPU time per work, the reciprocal of the file's values; as logarithms they differ in
    // sign.
    job.first = -std::log(job.first);
    job.second = -std::log(job.second);
  }
  // The expectation is used with its error, and the comparison has a level of its own.
  constexpr double kAnyLevel = 0.95;
  const ReversionReading reading = TRY(ReadingOf(path, jobs, kAnyLevel));
  return AsExpected(reading);
}

}  // namespace idleburn
