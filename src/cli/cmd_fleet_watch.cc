#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <optional>
#include <thread>

#include "audit/audit_plan.h"
#include "audit/keep_run.h"
#include "cli/fleet_watch.h"
#include "config/common_flags.h"
#include "fleet/fleet_board.h"
#include "price/find_rate.h"
#include "report/fleet_board_output.h"
#include "terminal/output.h"
#include "text/number.h"
#include "text/table.h"
#include "top/top_screen.h"

// The loop of `idleburn fleet watch`. The engine is asked by another thread, so that q and Ctrl-C act at once even
// while an engine hangs.

namespace idleburn {
namespace {

constexpr std::array<ReportFormat, 2> kBoardFormats = {ReportFormat::kText, ReportFormat::kJson};
constexpr Nanos kUsualInterval(30 * kNanosPerSecond);
constexpr Nanos kLookAtKeys(50'000'000);

// A board and when it came.
struct ShownBoard {
  FleetBoard board;
  Nanos read{0};  // monotonic
};

class FleetWatch {
 public:
  FleetWatch(Engine& engine, const BoardQuestion& question, TopScreen& screen)
      : engine_(engine), question_(question), screen_(screen) {}

  // Reads the next board, or learns why there is none. `meanwhile` is called again and again until then. False: the
  // user asked to end.
  bool Refresh(const std::function<void()>& meanwhile) {
    std::atomic<bool> done = false;
    Result<FleetBoard> result = Fail("");
    bool goes_on = true;
    {
      const std::jthread asking([&] {
        result = ReadFleetBoard(engine_, question_);
        done = true;
      });
      while (!done && goes_on) {
        goes_on = screen_.Wait(kLookAtKeys);
        meanwhile();
      }
      // Again and again, because a stop between two questions ends neither.
      while (!done && !goes_on) {
        engine_.Stop();
        std::this_thread::sleep_for(kLookAtKeys);
      }
    }
    if (!goes_on) return false;
    const Nanos now = MonotonicNow();
    if (result) {
      result->ids = OwnIds();
      shown_ = ShownBoard{*std::move(result), now};
      why_.clear();
    } else {
      if (why_.empty()) failed_ = now;
      why_ = result.error().message;
      error_ = result.error();
    }
    return true;
  }

  [[nodiscard]] const std::optional<ShownBoard>& shown() const { return shown_; }
  [[nodiscard]] const Error& error() const { return error_; }
  [[nodiscard]] BoardAge Age() const {
    const Nanos now = MonotonicNow();
    const FleetBoard& board = shown_->board;
    return {board.asked - board.at + (now - shown_->read).count() / kNanosPerSecond,
            why_.empty() ? 0 : (now - failed_).count() / kNanosPerSecond, why_};
  }

 private:
  Engine& engine_;
  const BoardQuestion& question_;
  TopScreen& screen_;
  std::optional<ShownBoard> shown_;
  std::string why_;  // why the last refresh failed; empty: it did not
  Nanos failed_{0};
  Error error_;
};

// How boards are shown.
struct BoardStyle {
  bool json = false;
  bool in_place = false;
  bool ascii = false;
  bool once = false;
  int columns = 100;  // of a board that is printed
};

std::string BoardOnPaper(const FleetWatch& watch, const BoardStyle& style, int columns) {
  const std::string text = FleetBoardText(watch.shown()->board, watch.Age(), columns);
  return style.ascii ? AsciiOnly(text) : text;
}

// Until the user asks to end. Fails if there is no first board, or if standard output cannot be written.
Result<void> ShowBoards(FleetWatch& watch, TopScreen& screen, const BoardStyle& style, Nanos interval) {
  // The age of the data moves on between two refreshes, and so may the size of the window.
  Nanos drawn{0};
  const auto draw = [&] {
    const Nanos now = MonotonicNow();
    if (!style.in_place || !watch.shown() || now - drawn < Nanos(kNanosPerSecond)) return;
    screen.Draw(BoardOnPaper(watch, style, screen.Columns()) + "q ends\n");
    drawn = now;
  };
  while (watch.Refresh(draw)) {
    if (!watch.shown()) return tl::unexpected<Error>(watch.error());
    if (style.once) return {};
    if (style.json) TRY(Print(FleetBoardJson(watch.shown()->board, watch.Age())));
    drawn = Nanos{0};
    const Nanos next = MonotonicNow() + interval;
    while (MonotonicNow() < next) {
      draw();
      if (!screen.Wait(std::min(next - MonotonicNow(), kLookAtKeys * 5))) return {};
    }
  }
  return {};
}

}  // namespace

Result<int> WatchFleet(const FleetWatchRequest& request, const Settings& settings, const Environment& environment) {
  if (request.engine.url.empty()) return FailUsage("fleet watch: give --engine URL, such as http://prometheus:9090");
  const Nanos interval = request.interval.empty() ? kUsualInterval : TRY(ParseDuration(request.interval));
  if (interval < Nanos(kNanosPerSecond)) return FailUsage("fleet watch: --interval is at least 1s");
  BoardStyle style;
  style.json = TRY(ChooseFormat(settings, "fleet watch", "", kBoardFormats)) == ReportFormat::kJson;
  const char* const kind = std::getenv("TERM");
  const bool dumb = kind != nullptr && std::string_view(kind) == "dumb";
  style.once = request.once || (!style.json && (!environment.terminal_out || dumb));
  style.in_place = !style.once && !style.json;
  style.ascii = environment.terminal_out && !environment.utf8;
  style.columns = environment.Width(100, 40);
  const Thresholds thresholds = TRY(ThresholdsFrom(settings));
  const Prices prices = TRY(OpenRates(settings, environment.now));
  // Before the screen holds signals, so that Ctrl-C ends a wait for an engine that is not there.
  Engine engine = TRY(Engine::Open(request.engine));
  const BoardQuestion question{prices, PriceGiven(settings), thresholds};
  Result<void> ended;
  std::string last;
  {
    TopScreen screen(style.in_place);
    FleetWatch watch(engine, question, screen);
    ended = ShowBoards(watch, screen, style, interval);
    if (watch.shown() && style.once && style.json) last = FleetBoardJson(watch.shown()->board, watch.Age());
    if (watch.shown() && !style.json) last = BoardOnPaper(watch, style, style.columns);
  }
  TRY(ended);
  // The screen is restored by now, so the last board stays visible.
  TRY(Print(last));
  return 0;
}

}  // namespace idleburn
