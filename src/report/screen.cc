#include "report/screen.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/report_page.h"
#include "text/strings.h"
#include "text/table.h"

namespace idleburn {

Screen::Screen(const Paper& paper, std::size_t rows)
    // "±" takes two columns as ASCII, so such a page is laid out one column narrower.
    : columns_(std::clamp(paper.columns - (paper.ascii ? 1 : 0), TextPage::kNarrowest, 100)),
      color_(paper.color),
      rows_(rows) {}

std::string Screen::Styled(std::string_view text, std::string_view code) const {
  return color_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

void Screen::Blank() { parts_.push_back({Keep::kSpace, {""}}); }

void Screen::Add(Keep keep, std::string_view lead, std::string_view text, std::size_t lines, bool bold) {
  if (text.empty()) return;
  const int indent = DisplayWidth(lead);
  const int width = std::max(columns_ - indent, 10);
  std::vector<std::string> wrapped = WrapWords(Printable(text), width);
  if (wrapped.size() > lines) {
    wrapped.resize(lines);
    wrapped.back() = Shortened(wrapped.back(), width - 2) + " …";
  }
  Part part{keep, {}};
  std::string start(lead);
  for (const std::string& line : wrapped) {
    part.lines.push_back(start + (bold ? Styled(line, "1") : line));
    start.assign(static_cast<std::size_t>(indent), ' ');
  }
  parts_.push_back(std::move(part));
}

void Screen::Raw(Keep keep, std::string line) { parts_.push_back({keep, {std::move(line)}}); }

std::string Screen::Take() && {
  std::size_t total = 0;
  for (const Part& part : parts_) total += part.lines.size();
  while (total > rows_) {
    // The least important part, the last of several. What must stay is shortened instead.
    auto least = parts_.begin();
    for (auto part = parts_.begin(); part != parts_.end(); ++part) {
      if (part->keep <= least->keep) least = part;
    }
    if (least->keep == Keep::kAlways) break;
    // A line less of a long part says more than no line of it.
    const std::size_t lost = least->lines.size() > 1 && least->keep >= Keep::kNeeded ? 1 : least->lines.size();
    total -= lost;
    least->lines.resize(least->lines.size() - lost);
    if (least->lines.empty()) parts_.erase(least);
  }
  std::string out;
  for (const Part& part : parts_) {
    for (const std::string& line : part.lines) out += line + "\n";
  }
  parts_.clear();
  return out;
}

}  // namespace idleburn
