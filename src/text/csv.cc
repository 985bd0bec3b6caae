#include "text/csv.h"

#include <algorithm>
#include <array>
#include <set>

#include "text/number.h"
#include "text/strings.h"

namespace idleburn {

namespace {

constexpr std::array<char, 4> kSeparators = {',', ';', '\t', '|'};

// Chooses the separator of a log: the most frequent candidate outside quotes in the first line. The earlier candidate
// wins a tie. Wrong for a first line of numbers with decimal commas, which may outnumber its semicolons.
char SniffSeparator(std::string_view line) {
  std::array<std::size_t, kSeparators.size()> counts{};
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    const auto* found = std::find(kSeparators.begin(), kSeparators.end(), c);
    if (!quoted && found != kSeparators.end()) ++counts[static_cast<std::size_t>(found - kSeparators.begin())];
  }
  const auto most = std::max_element(counts.begin(), counts.end());
  return kSeparators[static_cast<std::size_t>(most - counts.begin())];
}

// The position of the next character that is not a blank, or is the separator, which may be a tab.
std::size_t SkipCellBlanks(std::string_view line, std::size_t at, char separator) {
  while (at < line.size() && (line[at] == ' ' || line[at] == '\t') && line[at] != separator) ++at;
  return at;
}

}  // namespace

tl::unexpected<Error> CsvReader::Bad(const std::string& why) const {
  return Fail(name() + ":" + std::to_string(line_) + ": " + why);
}

// Reads the next line that is neither blank nor a comment.
Result<bool> CsvReader::NextLine(std::string_view* line) {
  while (true) {
    const Result<bool> more = lines_.Next(line);
    if (!more || !*more) return more;
    const std::size_t first = line->find_first_not_of(" \t");
    if (first == std::string_view::npos) continue;
    if (kind_ == CsvKind::kLog || (*line)[first] != '#') return true;
  }
}

// A line without any quote is split in place. Only lines with quotes are copied.
Result<bool> CsvReader::Next() {
  std::string_view line;
  const Result<bool> more = NextLine(&line);
  if (!more || !*more) return more;
  line_ = lines_.number();
  if (separator_ == '\0') separator_ = SniffSeparator(line);
  cells_.clear();
  in_quotes_ = false;
  malformed_ = false;
  if (line.find('"') == std::string_view::npos) {
    SplitPlain(line);
  } else {
    TRY(ReadQuoted(line));
  }
  torn_ = in_quotes_ || !lines_.terminated();
  return true;
}

// Reads a record with quotes, over as many lines as its quoted cells need.
Result<void> CsvReader::ReadQuoted(std::string_view line) {
  text_.clear();
  ends_.clear();
  ScanQuoted(line);
  while (in_quotes_) {
    if (kind_ == CsvKind::kTable) return Bad("a quoted cell is not closed; end it with \" on the same line");
    if (text_.size() > kMaxRecord) {
      return Bad("a quoted cell does not end within " + std::to_string(kMaxRecord) +
                 " bytes; close or remove its quote");
    }
    const bool more = TRY(lines_.Next(&line));
    if (!more) break;
    ScanQuoted(line);
  }
  if (malformed_ && kind_ == CsvKind::kTable) {
    return Bad("text follows the closing quote of a cell; quote the whole cell or nothing");
  }
  if (in_quotes_) ends_.push_back(text_.size());
  std::size_t begin = 0;
  for (const std::size_t end : ends_) {
    cells_.push_back(std::string_view(text_).substr(begin, end - begin));
    begin = end;
  }
  return {};
}

// Splits a line without quotes.
void CsvReader::SplitPlain(std::string_view line) {
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = line.find(separator_, begin);
    cells_.push_back(line.substr(begin, end - begin));
    if (end == std::string_view::npos) return;
    begin = end + 1;
  }
}

// Scans one more line of the record. Leaves in_quotes_ set if the record continues on the next line.
void CsvReader::ScanQuoted(std::string_view line) {
  std::size_t at = 0;
  if (in_quotes_) text_ += '\n';
  while (true) {
    if (!in_quotes_) {
      const std::size_t quote = SkipCellBlanks(line, at, separator_);
      in_quotes_ = quote < line.size() && line[quote] == '"';
      if (in_quotes_) at = quote + 1;
    }
    const bool quoted = in_quotes_;
    while (in_quotes_) {
      const std::size_t quote = line.find('"', at);
      text_.append(line.substr(at, quote - at));
      if (quote == std::string_view::npos) return;
      at = quote + 1;
      // A quote behind a quote stands for a quote, and the cell continues.
      in_quotes_ = at < line.size() && line[at] == '"';
      if (in_quotes_) text_ += line[at++];
    }
    // Only blanks may stand between the closing quote and the separator.
    if (quoted) {
      at = SkipCellBlanks(line, at, separator_);
      malformed_ |= at < line.size() && line[at] != separator_;
    }
    const std::size_t end = line.find(separator_, at);
    text_.append(line.substr(at, end - at));
    ends_.push_back(text_.size());
    if (end == std::string_view::npos) return;
    at = end + 1;
  }
}

Result<void> CsvTable::ReadHeader() {
  const bool more = TRY(rows_.Next());
  if (!more) return Fail(name() + ": no header row; the first line names the columns");
  std::set<std::string_view> seen;
  for (const std::string_view cell : rows_.cells()) {
    const std::string_view column = Trim(cell);
    if (!column.empty() && !seen.insert(column).second) {
      return Fail(Where() + ": two columns are named '" + Printable(column) + "'; keep or rename one of them");
    }
    header_.emplace_back(column);
  }
  return {};
}

Result<void> CsvTable::Require(std::span<const std::string_view> columns) const {
  for (const std::string_view column : columns) {
    if (!Has(column)) return Fail(Where() + ": no column '" + std::string(column) + "' in the header; add it");
  }
  return {};
}

Result<bool> CsvTable::Next() {
  const Result<bool> more = rows_.Next();
  if (!more || !*more) return more;
  if (rows_.cells().size() > header_.size()) {
    return Fail(Where() + ": " + std::to_string(rows_.cells().size()) + " cells, but the header names " +
                std::to_string(header_.size()) + "; quote cells that contain a comma");
  }
  return true;
}

bool CsvTable::Has(std::string_view column) const {
  return std::find(header_.begin(), header_.end(), column) != header_.end();
}

std::string_view CsvTable::Cell(std::string_view column) const {
  const auto found = std::find(header_.begin(), header_.end(), column);
  const auto position = static_cast<std::size_t>(found - header_.begin());
  return position < rows_.cells().size() ? Trim(rows_.cells()[position]) : std::string_view();
}

tl::unexpected<Error> CsvTable::Bad(std::string_view column, std::string_view how) const {
  constexpr std::size_t kShown = 60;
  return Fail(Where() + ": " + std::string(column) + ": '" + Printable(Cell(column).substr(0, kShown)) + "' " +
              std::string(how));
}

}  // namespace idleburn
