#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <thread>

#include "audit/keep_run.h"
#include "audit/machine_facts.h"
#include "audit/watch_flags.h"
#include "cli/commands.h"
#include "config/output_format.h"
#include "price/find_rate.h"
#include "run/live_session.h"
#include "terminal/output.h"
#include "text/strings.h"
#include "top/top_board.h"
#include "top/top_output.h"
#include "top/top_screen.h"

// `idleburn top`: a live table of GPUs and processes. It is a session like that of `run`, with a board in place of a
// recording (top/top_board.h), so its figures are those that a run would record. On a terminal it redraws one screen;
// through a pipe it prints lines, so that grep and logs work.
//
// Without a GPU it has nothing to show, so it waits for the driver, unlike `run` and `record`.

namespace idleburn {
namespace {

// Text is tables on a terminal and lines elsewhere. JSON is one document a line, for programs.
constexpr std::array<ReportFormat, 2> kTopFormats = {ReportFormat::kText, ReportFormat::kJson};

// The flags as they were written.
struct TopRequest {
  // Only the flags that say how GPUs are sampled.
  LiveFlags live;
  std::string time;
  bool once = false;
};

// The time of one look, for --once: two whole seconds, and the fifth of a second that the driver's ring holds back. A
// rate needs a start and an end.
constexpr Nanos kOnce(2'200'000'000);

// Starts the session on another thread, because the driver may take seconds. The screen meanwhile reacts to q and
// Ctrl-C. Returns false if the user asked to end.
bool Open(LiveSession& session, const LiveSessionSpec& spec, TopScreen& screen) {
  constexpr Nanos kLook(50'000'000);
  std::atomic<bool> open = false;
  bool goes_on = true;
  std::jthread opening([&](const std::stop_token& stop) {
    session.Start(spec, stop);
    open = true;
  });
  while (!open && goes_on) goes_on = screen.Wait(kLook);
  return goes_on;
}

// How a moment is shown.
enum class TopStyle : std::uint8_t { kInPlace, kLines, kJson };

// Shows the board every second, until the user asks to end or `time` has passed. Fails if standard output cannot be
// written.
Result<void> ShowBoard(TopBoard& board, TopScreen& screen, ProcessNames& names, TopStyle style,
                       std::optional<Nanos> time) {
  std::vector<std::string> notes;
  Nanos shown(0);
  while (!time || shown < *time) {
    const Nanos step = time ? std::min(Nanos(kNanosPerSecond), *time - shown) : Nanos(kNanosPerSecond);
    if (!screen.Wait(step)) return {};
    shown += step;
    // Notes come from the driver and may hold anything, so control characters are escaped.
    for (std::string& note : board.TakeNotes()) notes.push_back(Printable(note));
    TopView view = board.Latest();
    // Names are looked up here and not by the board, because only processes that are shown need one.
    names.Fill(view.processes);
    if (style == TopStyle::kLines) {
      TRY(Print(TopLines(view)));
      continue;
    }
    if (style == TopStyle::kJson) {
      // Before the first reading there is nothing to tell.
      if (view.gpus.empty()) continue;
      TRY(Print(TopJson(view, notes, OwnIds())));
      notes.clear();
      continue;
    }
    // The last three notes fit below the tables.
    std::string text = TopTables(view, screen.Columns()) + "q ends\n";
    const std::size_t first = notes.size() > 3 ? notes.size() - 3 : 0;
    for (std::size_t i = first; i < notes.size(); ++i) text += notes[i] + "\n";
    screen.Draw(text);
  }
  return {};
}

// The whole command. The screen lives in a block of its own: the terminal must be restored before anything is printed,
// and signals must be held before the session starts threads.
Result<int> Top(const TopRequest& request, const Settings& settings, const Environment& environment) {
  const Thresholds thresholds = TRY(ThresholdsFrom(settings));
  const LiveGpuOptions gpus = TRY(request.live.GpuOptions());
  const std::optional<Nanos> time = TRY(ParseFor(request.time));
  const bool json = TRY(ChooseFormat(settings, "top", "", kTopFormats)) == ReportFormat::kJson;
  RunFacts machine;
  for (const RunFact& fact : MachineFacts(request.live.detect_cloud)) machine[fact.key] = fact.value;
  RateQuestion question = QuestionOf(machine);
  question.host = HostName();
  question.live = true;
  const Prices prices = TRY(OpenRates(settings, environment.now));
  const RateBook rates = prices.For(question);

  // Rates are found when the devices are known, so the board gets a function.
  TopBoard board(thresholds, [&rates, now = environment.now](const DeviceTable& devices) {
    return RatesOf(rates, devices, AllOf(devices), RunSpan{now, now});
  });
  LiveSession session(board.devices(), board);
  LiveSessionSpec spec;
  spec.gpus = gpus;
  // Without GPUs there is nothing to show, so it waits a minute for a driver that loads.
  spec.gpus.patience = kDriverPatience;
  spec.gpus.tell_slow = Say;
  ProcessNames names;
  const char* const kind = std::getenv("TERM");
  // Such a terminal has lines only, as a pipe.
  const bool dumb = kind != nullptr && std::string_view(kind) == "dumb";
  // Redrawing needs a terminal that can move its cursor, and more than one picture to draw.
  const bool in_place = environment.terminal_out && !request.once && !dumb && !json;
  Result<void> shown;
  bool asked_to_end = false;
  {
    // Before the session starts its threads, so that they do not take the signals.
    TopScreen screen(in_place);
    asked_to_end = !Open(session, spec, screen);
    if (!asked_to_end && session.why_no_gpu().empty()) {
      if (request.once) {
        screen.Wait(kOnce);
      } else {
        const TopStyle style = json ? TopStyle::kJson : in_place ? TopStyle::kInPlace : TopStyle::kLines;
        shown = ShowBoard(board, screen, names, style, time);
      }
    }
    session.Stop();
  }
  if (asked_to_end && !session.why_no_gpu().empty()) return 0;
  if (!session.why_no_gpu().empty()) return Fail("top: " + session.why_no_gpu() + "; see idleburn doctor");
  TRY(shown);
  // The screen is restored by now, so notes stay visible.
  for (const std::string& note : board.TakeNotes()) Say(note);
  if (in_place || request.once) {
    TopView view = board.Final();
    names.Fill(view.processes);
    TRY(Print(json ? TopJson(view, {}, OwnIds()) : TopTables(view, environment.Width(100, 40))));
  }
  return 0;
}

}  // namespace

Result<int> RunTop(const std::vector<std::string>& arguments, const Environment& environment) {
  TopRequest request;
  CommandFlags flags({"price.rate", "price.catalogue", "price.contracts", "price.owned", "price.currency", "output."});
  flags.Writes("text, or json: one document a line, each second (default: text)");
  flags.Add("--once", "", "one view, after about two seconds").on = &request.once;
  flags.Add("--for", "TIME", "duration, for example 10s (default: until q or Ctrl-C)").text = &request.time;
  flags.Add("--hz", "RATE", "readings a second, 1 to 100 (default 10)").text = &request.live.hz;
  request.live.AddDetectCloud(flags);
  const bool read = TRY(flags.ReadWords(
      "top", "Shows what each GPU and process of this machine does and costs, every second; q or Ctrl-C ends it.",
      arguments));
  if (!read) return 0;
  if (request.once && !request.time.empty()) return FailUsage("top: --once and --for exclude each other");
  const Settings settings = TRY(flags.Load());
  return Top(request, settings, environment);
}

}  // namespace idleburn
