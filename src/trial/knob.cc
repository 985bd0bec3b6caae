#include "trial/knob.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <filesystem>

#include "measure/data_files.h"
#include "os/kept_file.h"
#include "text/figures.h"
#include "text/number.h"

namespace idleburn {
namespace {

// In bytes a second. A slower reader would not feel half of its rate.
constexpr double kLeastRead = 1e6;

std::string Cpus(double n) { return ThreeDigits(n) + (n == 1 ? " CPU" : " CPUs"); }

// Threads of the command inherit the CPUs that it may run on, so all of it has half.
Result<KnobPlan> PlanAffinity(const KnobContext& context) {
  const double usable = UsableCpus(context.cpus, context.quota_cpus);
  if (usable <= 1) return Fail("only one CPU is available, which cannot be halved");
  const std::vector<int> half = HalfOfCpus(context.cpus, usable);
  KnobPlan plan;
  plan.before = Cpus(usable);
  plan.after = Cpus(static_cast<double>(half.size()));
  plan.resource_ratio = static_cast<double>(half.size()) / usable;
  plan.apply = [half](TrialSide side) -> Result<KnobChange> {
    KnobChange change;
    if (side == TrialSide::kVariant) change.cpus = half;
    return change;
  };
  return plan;
}

// The job keeps all of its CPUs and is given half of their time: this tells a lack of time from a lack of cores.
Result<KnobPlan> PlanQuota(const KnobContext& context) {
  const double usable = UsableCpus(context.cpus, context.quota_cpus);
  KnobPlan plan;
  plan.before = Cpus(usable);
  plan.after = "the time of " + Cpus(usable / 2);
  plan.resource_ratio = 0.5;
  plan.apply = [place = context.cgroups.cpu, ours = context.ours,
                half = usable / 2](TrialSide side) -> Result<KnobChange> {
    KnobChange change;
    if (side == TrialSide::kBaseline) return change;
    auto group = TRY(ControlGroup::Make(place, Controller::kCpu, ours));
    TRY(group->LimitCpu(half));
    change.group = std::move(group);
    return change;
  };
  // A group that cannot be made shows now, not after the unchanged runs.
  TRY(plan.apply(TrialSide::kVariant));
  return plan;
}

// The data that two knobs need; an empty folder would show nothing.
Result<DataFiles> DataFilesOf(const std::string& path) {
  if (path.empty()) return Fail("needs the folder or file of the data: --data PATH");
  Result<DataFiles> files = ListDataFiles(path, kMostDataFiles);
  if (files && files->bytes == 0) return Fail(path + ": holds no data");
  return files;
}

// The number of the whole disk that a path is on. A partition cannot be throttled, only its disk.
Result<dev_t> DiskOf(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return Fail(path + ": cannot be seen");
  const std::string link = fmt::format("/sys/dev/block/{}:{}", major(info.st_dev), minor(info.st_dev));
  const bool partition = std::filesystem::exists(link + "/partition");
  const std::string number = FileText(link + (partition ? "/../dev" : "/dev"));
  const std::size_t colon = number.find(':');
  const auto first = ParseInteger(number.substr(0, colon));
  const auto second = colon == std::string::npos ? std::nullopt : ParseInteger(number.substr(colon + 1));
  if (!first || !second) return Fail(path + ": is on no disk of this machine with read throttling");
  return makedev(static_cast<unsigned>(*first), static_cast<unsigned>(*second));
}

// Both sides begin with the data cold, since a read from memory is not throttled. The rate of the first run is halved,
// so this must be a rate that the command had.
Result<KnobPlan> PlanThrottle(const KnobContext& context) {
  DataFiles files = TRY(DataFilesOf(context.data));
  const dev_t disk = TRY(DiskOf(context.data));
  if (!context.first->read_per_second)
    return Fail("no permission to read the command's storage counters (/proc/PID/io)");
  const double rate = *context.first->read_per_second;
  if (rate < kLeastRead)
    return Fail("the first run read " + DecimalBytes(rate) + "/s from storage: nothing to throttle");
  TRY(DropData(files));
  KnobPlan plan;
  plan.before = "cold, " + DecimalBytes(rate) + "/s";
  plan.after = "cold, at most " + DecimalBytes(rate / 2) + "/s";
  plan.resource_ratio = 0.5;
  plan.apply = [files = std::move(files), disk = disk, rate, place = context.cgroups.io,
                ours = context.ours](TrialSide side) -> Result<KnobChange> {
    TRY(DropData(files));
    KnobChange change;
    if (side == TrialSide::kBaseline) return change;
    auto group = TRY(ControlGroup::Make(place, Controller::kIo, ours));
    TRY(group->LimitReads(disk, static_cast<std::int64_t>(rate / 2)));
    change.group = std::move(group);
    return change;
  };
  TRY(plan.apply(TrialSide::kVariant));
  return plan;
}

// Half of the memory is left to the command, which would push the data out of it otherwise.
Result<KnobPlan> PlanCache(const KnobContext& context) {
  DataFiles files = TRY(DataFilesOf(context.data));
  if (!files.all || files.bytes > context.memory_available / 2) {
    return Fail("the data, " + DecimalBytes(static_cast<double>(files.bytes)) + (files.all ? "" : " at least") +
                ", do not fit in half of the available memory");
  }
  TRY(DropData(files));
  KnobPlan plan;
  plan.before = "all in memory";
  plan.after = "none in memory";
  plan.apply = [files = std::move(files), stop = context.stop](TrialSide side) -> Result<KnobChange> {
    TRY(side == TrialSide::kBaseline ? WarmData(files, stop) : DropData(files));
    return KnobChange{};
  };
  return plan;
}

// A knob that is an environment variable. The command reads it through a hook, which says what it used.
Result<KnobPlan> PlanHook(std::string name, std::int64_t before, std::int64_t after,
                          std::optional<std::int64_t> HooksSaid::*said) {
  KnobPlan plan;
  plan.before = std::to_string(before);
  plan.after = std::to_string(after);
  plan.apply = [name, after](TrialSide side) -> Result<KnobChange> {
    KnobChange change;
    if (side == TrialSide::kVariant) change.environment.emplace_back(name, std::to_string(after));
    return change;
  };
  plan.objection = [name, before, after, said](TrialSide side, const Trial& trial) {
    const std::int64_t wanted = side == TrialSide::kVariant ? after : before;
    if (trial.hooks.*said == wanted) return std::string();
    const std::string used = trial.hooks.*said ? std::to_string(*(trial.hooks.*said)) : "nothing";
    return "did not follow " + name + ": it used " + used + " instead of " + std::to_string(wanted);
  };
  return plan;
}

constexpr std::string_view kNotUsed = "not used by this workload; see docs/markers.md for ";

// Twice the workers, at least two. From none there is no ratio.
Result<KnobPlan> PlanWorkers(const KnobContext& context) {
  const std::optional<std::int64_t>& workers = context.first->hooks.workers;
  if (!workers) return Fail(std::string(kNotUsed) + "idleburn.num_workers()");
  Result<KnobPlan> plan =
      PlanHook("IDLEBURN_ISOLATE_WORKERS", *workers, std::max<std::int64_t>(2, 2 * *workers), &HooksSaid::workers);
  if (*workers > 0) {
    plan->resource_ratio = static_cast<double>(std::max<std::int64_t>(2, 2 * *workers)) / static_cast<double>(*workers);
  }
  return plan;
}

Result<KnobPlan> PlanSynthetic(const KnobContext& context) {
  const std::optional<std::int64_t>& synthetic = context.first->hooks.synthetic;
  if (!synthetic) return Fail(std::string(kNotUsed) + "idleburn.synthetic()");
  if (*synthetic != 0) return Fail("the data are synthetic already");
  Result<KnobPlan> plan = PlanHook("IDLEBURN_ISOLATE_SYNTHETIC", 0, 1, &HooksSaid::synthetic);
  plan->before = "its data";
  plan->after = "synthetic data";
  return plan;
}

// The order is that in which they are tried. docs/isolate.md is the same table for people.
constexpr std::array<Knob, 6> kKnobs = {{
    {"cpu_affinity",
     "half of the CPUs to run on",
     "sched_setaffinity before the command starts",
     "no privilege",
     true,
     -1,
     "CPU cores bound this job",
     "fewer CPU cores make this job faster",
     {"loader_cpu_no_cores"},
     "give it more cores, or give its loader less CPU work (dali, pretokenize, cache_dataset); more workers do not "
     "help",
     PlanAffinity},
    {"cpu_quota",
     "half of the CPU time, on all CPUs",
     "cpu.max of a control group of its own (version 1: cpu.cfs_quota_us)",
     "a control group that may be written: root, or a delegated one",
     true,
     -1,
     "CPU time bounds this job",
     "less CPU time makes this job faster",
     {"loader_cpu_no_cores"},
     "raise its CPU quota, or give its loader less work (dali, pretokenize, cache_dataset)",
     PlanQuota},
    {"io_throttle",
     "half of the rate of reads from storage",
     "io.max of a control group of its own (version 1: blkio.throttle.read_bps_device), with the data cold",
     "a control group that may be written: root, or a delegated one; --data PATH",
     true,
     -1,
     "reads from storage bound this job",
     "slower reads make this job faster",
     {"storage"},
     "faster_storage, sharded_reads, prefetch or cache_dataset",
     PlanThrottle},
    {"page_cache",
     "data in memory must be read from storage",
     "posix_fadvise(POSIX_FADV_DONTNEED), looked at with mincore",
     "--data PATH on a disk, fit for memory, of the same user",
     false,
     -1,
     "reading its data from storage holds this job up",
     "data in memory make this job slower",
     {"storage"},
     "cache_dataset, where the data fit in memory; else faster_storage or sharded_reads",
     PlanCache},
    {"workers",
     "twice as many loader workers",
     "IDLEBURN_ISOLATE_WORKERS",
     "idleburn.num_workers() in the command",
     false,
     1,
     "more loader workers make this job faster",
     "more loader workers make this job slower",
     {"loader_cpu_spare_cores"},
     "num_workers",
     PlanWorkers},
    {"synthetic_data",
     "no data to load",
     "IDLEBURN_ISOLATE_SYNTHETIC",
     "idleburn.synthetic() in the command",
     false,
     1,
     "loading its data holds this job up",
     "synthetic data make this job slower",
     {"loader_cpu_spare_cores", "loader_cpu_no_cores", "storage"},
     "the other knobs show whether cores, storage or too few workers are the cause",
     PlanSynthetic},
}};

}  // namespace

std::span<const Knob> Knobs() { return kKnobs; }

const Knob* FindKnob(std::string_view id) {
  const auto at = std::find_if(kKnobs.begin(), kKnobs.end(), [&](const Knob& knob) { return knob.id == id; });
  return at == kKnobs.end() ? nullptr : &*at;
}

}  // namespace idleburn
