#include "terminal/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <span>
#include <utility>

#include "text/strings.h"
#include "text/table.h"

// The line uses no escape sequences. "\r" and blanks remove it on every terminal, also where NO_COLOR or TERM=dumb
// rules escapes out. There is no thread: the line is drawn by whoever does the work, so work that stalls shows a line
// that stands still.

namespace idleburn {
namespace {

// Work that takes less is over before a reader sees the line.
constexpr Nanos kPatience{kNanosPerSecond};
constexpr Nanos kBetweenDraws{kNanosPerSecond / 5};
// A task name keeps at least so many columns, or is left out.
constexpr int kLeastName = 8;

// Three significant digits with the name that fits, of names that go up by 1,000. The first is of whole numbers.
std::string Scaled(double value, std::span<const std::string_view> names) {
  std::size_t name = 0;
  for (; value >= 999.5 && name + 1 < names.size(); ++name) value /= 1000;
  const int decimals = name == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f}{}", value, decimals, names[name]);
}

// "310 MB".
std::string BytesText(double bytes) {
  constexpr std::array<std::string_view, 5> kNames = {" B", " kB", " MB", " GB", " TB"};
  return Scaled(bytes, kNames);
}

// "19", "844k" or "10.0M".
std::string CountText(double count) {
  constexpr std::array<std::string_view, 4> kNames = {"", "k", "M", "G"};
  return Scaled(count, kNames);
}

// "12 s", "3 min" or "2 h 5 min".
std::string SpanText(double seconds) {
  constexpr int kMostPlain = 90;  // of seconds and of minutes
  const auto minutes = static_cast<std::int64_t>(std::lround(seconds / 60));
  if (seconds < kMostPlain) return fmt::format("{:.0f} s", seconds);
  if (minutes < kMostPlain) return fmt::format("{} min", minutes);
  return fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

std::string_view NameOf(ProgressUnit unit) {
  switch (unit) {
    case ProgressUnit::kRows:
      return "rows";
    case ProgressUnit::kDraws:
      return "draws";
    case ProgressUnit::kRuns:
      return "runs";
    default:
      return "";
  }
}

std::string AmountText(ProgressUnit unit, double amount) {
  if (unit == ProgressUnit::kBytes) return BytesText(amount);
  if (unit == ProgressUnit::kNanos) {
    const double seconds = amount / static_cast<double>(kNanosPerSecond);
    return seconds < 10 ? fmt::format("{:.3g} s", seconds) : SpanText(seconds);
  }
  return CountText(amount) + " " + std::string(NameOf(unit));
}

// What is done in a second, or in a minute or hour where that is less than one. Empty for time, which always passes at
// the same rate.
std::string RateText(ProgressUnit unit, double per_second) {
  if (unit == ProgressUnit::kNanos) return {};
  if (unit == ProgressUnit::kBytes) return BytesText(per_second) + "/s";
  const std::string name(NameOf(unit));
  if (per_second >= 10) return fmt::format("{} {}/s", CountText(per_second), name);
  if (per_second >= 1) return fmt::format("{:.1f} {}/s", per_second, name);
  if (per_second * 60 >= 1) return fmt::format("{:.1f} {}/min", per_second * 60, name);
  return fmt::format("{:.1f} {}/h", per_second * 3600, name);
}

Nanos SteadyNow() { return std::chrono::steady_clock::now().time_since_epoch(); }

// Counts the bytes that pass. A reader that uses the file by position says so by Passed.
class ProgressSource final : public ByteSource {
 public:
  ProgressSource(std::unique_ptr<ByteSource> in, Progress& progress) : in_(std::move(in)), progress_(progress) {}

  Result<std::size_t> Read(std::span<char> out) override {
    Result<std::size_t> got = in_->Read(out);
    read_ += got.value_or(0);
    Tell(read_);
    return got;
  }
  void Passed(std::uint64_t position) override { Tell(position); }
  [[nodiscard]] bool truncated() const override { return in_->truncated(); }
  [[nodiscard]] const std::string& name() const override { return in_->name(); }

 private:
  // The beginning of a file may be read both ways, and counts once.
  void Tell(std::uint64_t position) {
    const std::uint64_t more = position > told_ ? position - told_ : 0;
    told_ += more;
    progress_.Add(more, in_->name());
  }

  std::unique_ptr<ByteSource> in_;
  Progress& progress_;
  std::uint64_t read_ = 0;
  std::uint64_t told_ = 0;
};

}  // namespace

Progress::Progress(Screen screen) : screen_(std::move(screen)) { next_ = screen_->now() + kPatience; }

Progress Progress::OnStandardError(const Environment& environment, bool quiet) {
  if (quiet || !environment.terminal_err) return {};
  const auto write = [](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  };
  return Progress(Screen{SteadyNow, write, environment.columns_err, environment.utf8});
}

void Progress::Begin(std::string task, ProgressUnit unit, std::uint64_t total) {
  if (!screen_) return;
  Hide();
  task_ = std::move(task);
  item_.clear();
  unit_ = unit;
  total_ = total;
  done_ = 0;
  began_ = screen_->now();
  DrawIfDue();
}

void Progress::Add(std::uint64_t more, std::string_view item) {
  if (!screen_) return;
  done_ += more;
  if (!item.empty() && item != item_) item_ = item;
  DrawIfDue();
}

void Progress::Reach(std::uint64_t done) {
  if (!screen_) return;
  done_ = done;
  DrawIfDue();
}

ProgressWatch Progress::Watch() {
  if (!screen_) return {};
  return [this](std::uint64_t done, std::uint64_t total) {
    total_ = total;
    Reach(done);
  };
}

void Progress::Hide() {
  if (shown_ == 0) return;
  screen_->write("\r" + std::string(static_cast<std::size_t>(shown_), ' ') + "\r");
  shown_ = 0;
  next_ = screen_->now();
}

void Progress::End() {
  Hide();
  task_.clear();
}

std::string Progress::Figures(Nanos now) const {
  const double seconds = static_cast<double>((now - began_).count()) / static_cast<double>(kNanosPerSecond);
  const bool known = total_ > 0;
  // A file that grows while it is read has more bytes than it had.
  const auto done = static_cast<double>(known ? std::min(done_, total_) : done_);
  const double rate = seconds > 0 ? done / seconds : 0;
  const std::string share = known ? fmt::format("{:.0f} % of {}", std::floor(100 * done / static_cast<double>(total_)),
                                                AmountText(unit_, static_cast<double>(total_)))
                            : done_ > 0 ? AmountText(unit_, done)
                                        : std::string();
  std::string text = share;
  const std::string speed = done_ > 0 ? RateText(unit_, rate) : "";
  if (!speed.empty()) text += ", " + speed;
  if (known && rate > 0) text += ", " + SpanText(std::ceil((static_cast<double>(total_) - done) / rate)) + " left";
  return text;
}

// Draws over the line before, and blanks what that had more.
void Progress::DrawIfDue() {
  const Nanos now = screen_->now();
  if (now < next_ || !busy()) return;
  next_ = now + kBetweenDraws;
  const std::string figures = Figures(now);
  const int room = screen_->columns - 1;  // a full line would scroll on some terminals
  const int for_name = room - DisplayWidth("idleburn: : ") - DisplayWidth(figures);
  std::string name = Printable(item_.empty() ? task_ : task_ + " " + item_);
  name = for_name < kLeastName ? std::string() : Shortened(name, for_name);
  const std::string between = name.empty() || figures.empty() ? "" : ": ";
  std::string line = Shortened("idleburn: " + name + between + figures, room);
  if (!screen_->utf8) line = AsciiOnly(line);
  const int width = DisplayWidth(line);
  const std::string rest(static_cast<std::size_t>(std::max(shown_ - width, 0)), ' ');
  screen_->write("\r" + line + rest);
  shown_ = std::max(shown_, width);
}

WrapFile CountedBy(Progress* progress) {
  if (progress == nullptr || !progress->on()) return {};
  return [progress](std::unique_ptr<ByteSource> file) -> std::unique_ptr<ByteSource> {
    return std::make_unique<ProgressSource>(std::move(file), *progress);
  };
}

}  // namespace idleburn
