#include "text/csv_record.h"

#include <algorithm>
#include <array>

#include "text/byte_order_mark.h"

namespace idleburn {
namespace {

constexpr std::array<char, 4> kSeparators = {',', ';', '\t', '|'};

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

}  // namespace

Result<bool> CsvReader::Next() {
  std::string_view line;
  do {
    const Result<bool> more = lines_.Next(&line);
    if (!more || !*more) return more;
    if (lines_.number() == 1) line = WithoutByteOrderMark(line);
  } while (line.find_first_not_of(" \t") == std::string_view::npos);
  line_ = lines_.number();
  if (separator_ == '\0') separator_ = SniffSeparator(line);
  cells_.clear();
  if (line.find('"') == std::string_view::npos) {
    SplitPlain(line);
    torn_ = !lines_.terminated();
    return true;
  }
  text_.clear();
  ends_.clear();
  in_quotes_ = false;
  ScanQuoted(line);
  while (in_quotes_) {
    if (text_.size() > kMaxRecord) {
      return Fail(name() + ":" + std::to_string(line_) + ": a quoted cell does not end within " +
                  std::to_string(kMaxRecord) + " bytes; close or remove its quote");
    }
    const Result<bool> more = lines_.Next(&line);
    if (!more) return more;
    if (!*more) break;
    ScanQuoted(line);
  }
  torn_ = in_quotes_ || !lines_.terminated();
  if (in_quotes_) ends_.push_back(text_.size());
  std::size_t begin = 0;
  for (const std::size_t end : ends_) {
    cells_.push_back(std::string_view(text_).substr(begin, end - begin));
    begin = end;
  }
  return true;
}

void CsvReader::SplitPlain(std::string_view line) {
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = line.find(separator_, begin);
    cells_.push_back(line.substr(begin, end - begin));
    if (end == std::string_view::npos) return;
    begin = end + 1;
  }
}

// Takes one more line of the record; leaves in_quotes_ set if the record goes on in the next.
void CsvReader::ScanQuoted(std::string_view line) {
  std::size_t at = 0;
  if (in_quotes_) text_ += '\n';
  while (true) {
    if (!in_quotes_) {
      const std::size_t quote = std::min(line.find_first_not_of(' ', at), line.size());
      if (quote < line.size() && line[quote] == '"') {
        in_quotes_ = true;
        at = quote + 1;
      }
    }
    while (in_quotes_) {
      const std::size_t quote = line.find('"', at);
      text_.append(line.substr(at, quote - at));
      if (quote == std::string_view::npos) return;
      at = quote + 1;
      in_quotes_ = at < line.size() && line[at] == '"';
      if (in_quotes_) text_ += line[at++];
    }
    const std::size_t end = line.find(separator_, at);
    text_.append(line.substr(at, end - at));
    ends_.push_back(text_.size());
    if (end == std::string_view::npos) return;
    at = end + 1;
  }
}

}  // namespace idleburn
