#include "doctor/doctor_readings.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>
#include <utility>

#include "audit/keep_run.h"
#include "audit/live_record.h"
#include "audit/machine_facts.h"
#include "history/users_history.h"
#include "import/duckdb_query.h"
#include "measure/cloud_metadata.h"
#include "measure/nvml_library.h"
#include "os/input_file.h"
#include "os/kept_file.h"
#include "price/find_rate.h"
#include "run/live_session.h"
#include "run/run_summary.h"
#include "telemetry/recording.h"

namespace idleburn {
namespace {

// Keeps the newest of what is measured, and the stamps of utilization. No history is kept: a few values are enough.
class DoctorSink final : public LiveSink {
 public:
  explicit DoctorSink(DoctorReadings& readings) : readings_(readings) {}

  void OnSamples(std::span<const Sample> samples) override {
    for (const Sample& s : samples) {
      if (s.device >= readings_.gpus.size()) readings_.gpus.resize(s.device + 1);
      HeardOfGpu& gpu = readings_.gpus[s.device];
      gpu.present |= s.present;
      gpu.lacking |= s.unavailable;
      for (const SignalInfo& info : kSignals) {
        if (s.Has(info.id)) gpu.last[Index(info.id)] = s.Get(info.id);
        if (s.Lacks(info.id)) gpu.reason[Index(info.id)] = s.reason;
      }
      if (s.Has(Signal::kUtilization)) gpu.utilization_at.push_back(s.time);
    }
  }
  // Samples of the host only tell which signals can be read.
  void OnHost(std::span<const HostSample> samples) override {
    for (const HostSample& s : samples) readings_.host_present[static_cast<std::size_t>(s.scope)] |= s.present;
  }
  void OnWork(const WorkMark& /*mark*/) override {}
  void OnNote(const Note& note) override { readings_.notes.push_back(note); }
  void OnFact(const RunFact& fact) override { readings_.facts[fact.key] = fact.value; }

 private:
  DoctorReadings& readings_;
};

// Files of the kernel end with a line break.
std::string FirstLineOf(std::string text) { return text.substr(0, text.find('\n')); }

// Opens the library once more, beside the session, to see which functions it lacks.
void LookAtLibrary(const LiveGpuOptions& gpus, DoctorReadings& readings) {
  readings.library_wanted = gpus.nvml_library;
  const auto library = NvmlLibrary::Open(gpus.nvml_library, SystemClock());
  if (!library) return;
  readings.library = (*library)->path();
  readings.functions = (*library)->functions();
  readings.missing_functions.assign((*library)->missing().begin(), (*library)->missing().end());
}

// Measures as `record` does, so that a reading that works here works there.
void Measure(const LiveGpuOptions& gpus, Nanos span, const ProgressWatch& watch, DoctorReadings& readings) {
  DoctorSink sink(readings);
  LiveSession session(readings.devices, sink);
  LiveSessionSpec spec;
  spec.gpus = gpus;
  spec.workload = HostWorkload{};
  spec.workload->pid = getpid();  // what may be read of a workload's processes may be read of our own
  session.Start(spec);
  constexpr Nanos kTell(kNanosPerSecond / 5);
  for (Nanos slept(0); slept < span; slept += kTell) {
    if (watch) watch(static_cast<std::uint64_t>(slept.count()), static_cast<std::uint64_t>(span.count()));
    std::this_thread::sleep_for(std::min(kTell, span - slept));
  }
  session.Stop();
  readings.nvidia = session.nvidia();
  readings.statistics = session.statistics();
  // A device that said nothing has an empty entry.
  readings.gpus.resize(readings.devices.size());
}

// Reads once what does not change while one measures.
void LookAtHost(DoctorReadings& readings) {
  std::error_code unreadable;
  readings.pid_namespace = std::filesystem::read_symlink("/proc/self/ns/pid", unreadable).string();
  readings.cgroups = FindCgroups(FileText("/proc/self/mountinfo"), FileText("/proc/self/cgroup"));
  readings.clock_source = FirstLineOf(FileText("/sys/devices/system/clocksource/clocksource0/current_clocksource"));
  const std::shared_ptr<RunClock> clock = SystemClock();
  // One read is shorter than the clock can tell.
  constexpr int kReads = 1000;
  const Nanos start = clock->Monotonic();
  for (int i = 0; i < kReads; ++i) clock->Read();
  readings.clock_cost = (clock->Monotonic() - start) / kReads;
}

// The reads of a recorded run, of its workload or else of the machine that it ran on.
Result<RunReads> ReadsOf(const std::string& path) {
  const std::unique_ptr<ByteSource> in = TRY(OpenInput(path));
  DeviceTable devices;
  DataQuality doubts;
  RunSummary summary;
  const RecordingSummary read = TRY(ReadRecording(*in, devices, doubts, summary));
  RunReads reads;
  std::optional<HostUse> use = summary.Use(HostScope::kWorkload);
  if (!use) {
    reads.scope = HostScope::kMachine;  // recorded beside whatever ran
    use = summary.Use(HostScope::kMachine);
  }
  if (!use || use->watched() <= Nanos(0)) return Fail(path + ": holds no readings of the host");
  reads.watched = use->watched();
  // Absent where the recording lacks the counter, as without the right to read it.
  const auto per_second = [&use](HostSignal signal) -> std::optional<double> {
    const std::optional<std::int64_t>& change = use->change[Index(signal)];
    if (!change) return std::nullopt;
    return static_cast<double>(*change) * 1e9 / static_cast<double>(use->watched().count());
  };
  reads.storage = per_second(HostSignal::kReadBytes);
  reads.asked = per_second(HostSignal::kReadChars);
  return reads;
}

// The rate that the GPUs of this machine have in common. It is found as an audit finds it.
Result<Rate> RateOf(const DeviceTable& devices, const Settings& settings, const RateQuestion& question, Instant now) {
  // The same steps as in an audit, for one moment instead of a run.
  const Prices prices = TRY(OpenRates(settings, now));
  const RateBook rates = prices.For(question);
  const std::vector<DeviceId> gpus = AllOf(devices);
  const RateCard card = TRY(RatesOf(rates, devices, gpus, RunSpan{now, now}));
  return OneRate(card.Used(gpus));
}

// The cloud is not asked over the network, which could wait: the firmware names the machine.
void LookAtPrices(const Settings& settings, DoctorReadings& readings) {
  DataQuality doubts;
  const Result<Catalogue> catalogue = LoadPrices(settings.Text("price.catalogue"), doubts);
  if (!catalogue) {
    readings.prices.fault = catalogue.error().message;
  } else {
    for (const CatalogueRow* row : catalogue->Rows()) {
      ++readings.prices.rows;
      if (!row->as_of) continue;
      readings.prices.oldest = std::min(readings.prices.oldest.value_or(*row->as_of), *row->as_of);
      readings.prices.newest = std::max(readings.prices.newest.value_or(*row->as_of), *row->as_of);
    }
  }
  const auto machine = DetectInstanceType("/sys/class/dmi/id");
  if (machine) readings.provider = machine->provider;
  RunFacts facts;
  for (const RunFact& fact : MachineFacts(/*ask_cloud=*/false)) facts[fact.key] = fact.value;
  RateQuestion question = QuestionOf(facts);
  readings.instance = question.instance;
  question.host = HostName();
  question.live = true;
  readings.rate = RateOf(readings.devices, settings, question, readings.now);
}

}  // namespace

std::unique_ptr<DoctorReadings> TakeDoctorReadings(const LiveGpuOptions& gpus, Nanos span, const DataQuestion& data,
                                                   const Settings& settings, Instant now, const DoctorWatch& watch) {
  auto readings = std::make_unique<DoctorReadings>();
  readings->now = now;
  readings->ids = OwnIds();
  LookAtLibrary(gpus, *readings);
  Measure(gpus, span, watch.measuring, *readings);
  LookAtHost(*readings);
  const std::filesystem::path recording(UsualRecordingPath(RecordingFolder({}), now));
  readings->recording_folder = recording.parent_path().string();
  if (!readings->recording_folder.empty()) readings->folder = ProbeFolder(readings->recording_folder);
  if (const auto duckdb = OpenDuckDb(1); !duckdb) readings->duckdb_fault = duckdb.error().message;
  LookAtPrices(settings, *readings);
  readings->question = data;
  if (!data.probe.path.empty()) readings->storage = ProbeStorage(data.probe, watch.storage);
  if (!data.run.empty()) readings->run_reads = ReadsOf(data.run);
  if (data.agent) readings->agent = LookAtAgent(readings->devices, now, AgentStateFolder());
  return readings;
}

}  // namespace idleburn
