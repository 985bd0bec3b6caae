#include "plan/spot_facts.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "config/flag_values.h"
#include "os/input_file.h"
#include "text/figures.h"
#include "text/number.h"

namespace idleburn {

// Flags and files to facts. A flag wins over a drill. Every source is cited in the order in which it was read, so that
// a report can say where its figures come from.

namespace {

// A drill's document is a few kilobytes; anything near this is another file.
constexpr std::size_t kMostDrillBytes = std::size_t{1} << 24;

// A span of time as a flag gives it. A plain 0 is allowed, absent if the flag is not given.
Result<std::optional<Hours>> Span(const char* flag, const std::string& text) {
  if (text.empty()) return std::optional<Hours>();
  if (text == "0") return std::optional<Hours>(Hours{});
  const Nanos span = TRY(FlagSpan("plan", flag, text, Nanos()));
  return std::optional<Hours>(span);
}

// Appends a source to a list.
void Cite(std::string& list, const std::string& what) { list += (list.empty() ? "" : ", ") + what; }

// Takes C, R and the loss from a drill. `checkpoint` and `restart` tell whether it knew them.
Result<void> ReadDrillFile(const SpotFlags& flags, SpotFacts& facts, bool& checkpoint, bool& restart) {
  if (flags.drill.empty()) return {};
  const std::string text = TRY(ReadInput(flags.drill, kMostDrillBytes));
  const MeasuredRestart drill = TRY(ParseDrillDocument(text, flags.drill));
  const auto hours = [](double seconds) { return Hours(seconds / 3600); };
  checkpoint = drill.checkpoint_s.has_value();
  restart = drill.restart_s.has_value();
  if (checkpoint) facts.launch.checkpoint = hours(*drill.checkpoint_s);
  if (restart) facts.launch.restart = hours(*drill.restart_s);
  Cite(facts.launch_from, flags.drill);
  // Without C no interval can be chosen: the job stays as it is, and what it lost in the drill is what it will lose.
  if (checkpoint || !restart || !drill.lost_s || !drill.interval_s || *drill.interval_s <= 0) return {};
  facts.launch.interval = hours(*drill.interval_s);
  facts.launch.loss = hours(*drill.restart_s + *drill.lost_s);
  checkpoint = true;
  facts.doubts.push_back(flags.drill + " has no checkpoint time, so the figures do not include it");
  return {};
}

// What starting again takes: from the drill first, then each flag that is given.
Result<void> ReadLaunch(const SpotFlags& flags, SpotFacts& facts) {
  bool checkpoint = false;
  bool restart = false;
  // The drill comes first, so that flags replace what it says.
  TRY(ReadDrillFile(flags, facts, checkpoint, restart));
  const auto set = [&](const char* flag, const std::string& text, const auto& into) -> Result<void> {
    const std::optional<Hours> span = TRY(Span(flag, text));
    if (!span) return {};
    into(*span);
    Cite(facts.launch_from, fmt::format("{} {}", flag, text));
    return {};
  };
  TRY(set("--checkpoint-cost", flags.checkpoint_cost, [&](Hours span) {
    facts.launch.checkpoint = span;
    checkpoint = true;
  }));
  TRY(set("--restart", flags.restart, [&](Hours span) {
    facts.launch.restart = span;
    restart = true;
  }));
  TRY(set("--loss", flags.loss, [&](Hours span) { facts.launch.loss = span; }));
  TRY(set("--checkpoint-interval", flags.interval, [&](Hours span) { facts.launch.interval = span; }));
  // A loss that is stated in all needs no other figure.
  if (facts.launch.loss) return {};
  if (!checkpoint) facts.missing.emplace_back("--checkpoint-cost 30s");
  if (!restart) facts.missing.emplace_back("--restart 3m");
  return {};
}

// The history in the file that was asked for, or its only one.
Result<const InterruptionHistory*> ChooseHistory(const NodeEvents& events, const SpotFlags& flags) {
  std::string names;
  for (const InterruptionHistory& history : events.histories) {
    if (history.trace == flags.trace) return &history;
    Cite(names, history.trace);
  }
  if (flags.trace.empty() && events.histories.size() == 1) return &events.histories.front();
  return FailUsage(fmt::format("{}: choose one of its histories with --trace: {}", flags.interruptions, names));
}

// How often machines are lost, by a recorded history.
Result<void> ReadHistory(const SpotFlags& flags, SpotFacts& facts) {
  const std::unique_ptr<ByteSource> in = TRY(OpenInput(flags.interruptions));
  const NodeEvents events = TRY(ReadNodeEvents(*in));
  // Rows were left out; whoever recorded the file should know.
  for (const auto& [doubt, what] : {std::pair{&events.added_twice, "add a node that exists"},
                                    std::pair{&events.removed_unknown, "remove a node that does not exist"}}) {
    if (doubt->rows == 0) continue;
    facts.doubts.push_back(fmt::format("{} rows of {} {} (first: {}); they were left out", doubt->rows,
                                       flags.interruptions, what, doubt->first));
  }
  const InterruptionHistory* history = TRY(ChooseHistory(events, flags));
  facts.history = SpotTrace::EndToEnd(*history);
  if (!facts.history) {
    return Fail(flags.interruptions +
                ": this history has no losses, so it gives no time between losses; give --uptime instead");
  }
  facts.machines = UpAndDownOf(*facts.history);
  const UptimeFacts uptime = FactsOf(*history);
  facts.machines_from = fmt::format(
      "{}, {}: {} losses, {} up each, {} of the time there", flags.interruptions, history->trace, uptime.losses,
      SecondsForPeople(3600 * facts.machines->mean_up.count()), PercentText(uptime.up_fraction));
  return {};
}

// How often machines are lost, by a history or by the mean uptime; one of the two.
Result<void> ReadMachines(const SpotFlags& flags, SpotFacts& facts) {
  // A history says all of it, so that another statement could only contradict it.
  if (!flags.interruptions.empty()) {
    if (!flags.uptime.empty() || !flags.up_fraction.empty()) {
      return FailUsage("plan: --interruptions says how long machines stay; leave out --uptime and --up-fraction");
    }
    return ReadHistory(flags, facts);
  }
  const std::optional<Hours> uptime = TRY(Span("--uptime", flags.uptime));
  if (!uptime) {
    if (!flags.up_fraction.empty()) return FailUsage("plan: --up-fraction needs --uptime, the hours between losses");
    facts.missing.emplace_back("--uptime 8h or --interruptions FILE.csv");
    return {};
  }
  facts.machines = UpAndDown{*uptime, {}, {}};
  facts.machines_from = "--uptime " + flags.uptime;
  if (flags.up_fraction.empty()) return {};
  const ScaledNumber share = ParseScaled(flags.up_fraction, 6);
  if (share.fault != NumberFault::kNone || share.value <= 0 || share.value > 1'000'000) {
    return FailUsage("plan: --up-fraction '" + flags.up_fraction.substr(0, 20) +
                     "' is not a fraction above 0 and up to 1");
  }
  facts.machines->mean_down = MeanDownTime(*uptime, static_cast<double>(share.value) / 1e6);
  facts.machines_from += ", there " + flags.up_fraction + " of the time";
  return {};
}

}  // namespace

void SpotFlags::AddTo(CommandFlags& flags) {
  flags.Add("--uptime", "TIME", "mean time between losses of one spot machine: 8h").text = &uptime;
  flags.Add("--up-fraction", "F", "share of the time that a machine is available (1)").text = &up_fraction;
  flags.Add("--interruptions", "FILE.csv", "a history of machines: t_s, event (add, remove), node").text =
      &interruptions;
  flags.Add("--trace", "NAME", "the name of one history in that file").text = &trace;
  flags.Add("--drill", "FILE.json", "checkpoint and restart as `idleburn drill --format json` measured them").text =
      &drill;
  flags.Add("--checkpoint-cost", "TIME", "time that training stops for one checkpoint").text = &checkpoint_cost;
  flags.Add("--restart", "TIME", "time from a new machine until training continues").text = &restart;
  flags.Add("--loss", "TIME", "measured total time lost per interruption").text = &loss;
  flags.Add("--checkpoint-interval", "TIME", "time between checkpoints (default: Young's formula)").text = &interval;
}

Result<SpotFacts> ReadSpotFacts(const SpotFlags& flags) {
  SpotFacts facts;
  TRY(ReadMachines(flags, facts));
  TRY(ReadLaunch(flags, facts));
  // With half of the facts nothing can be weighed, and nothing is.
  if (!facts.complete()) facts.machines.reset();
  return facts;
}

namespace {

// A number of seconds. Absent where the document says null or nothing. Anything else sets `bad` to the key.
std::optional<double> Seconds(const nlohmann::json& document, const char* key, std::string& bad) {
  const auto found = document.find(key);
  if (found == document.end() || found->is_null()) return std::nullopt;
  const double value = found->is_number() ? found->get<double>() : -1;
  if (std::isfinite(value) && value >= 0) return value;
  bad = key;
  return std::nullopt;
}

}  // namespace

Result<MeasuredRestart> ParseDrillDocument(const std::string& text, const std::string& name) {
  const nlohmann::json document = nlohmann::json::parse(text, nullptr, false);
  if (!document.is_object() || !document.contains("schema") || document["schema"] != "idleburn.drill/1") {
    return Fail(name + ": not an idleburn.drill/1 document; write one with idleburn drill --format json");
  }
  std::string bad;
  MeasuredRestart measured;
  measured.checkpoint_s = Seconds(document, "checkpoint_s", bad);
  measured.interval_s = Seconds(document, "checkpoint_interval_s", bad);
  measured.restart_s = Seconds(document, "restart_s", bad);
  measured.lost_s = Seconds(document, "lost_s", bad);
  if (!bad.empty()) return Fail(name + ": " + bad + " is not a number of seconds, 0 or more");
  return measured;
}

}  // namespace idleburn
