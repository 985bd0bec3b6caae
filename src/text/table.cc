#include "text/table.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "text/strings.h"

namespace idleburn {

// Widths are counted in terminal columns throughout: a character may take several bytes and no, one or two columns.

namespace {

constexpr int kColumnGap = 2;
// Wrapping columns stop shrinking at this width.
constexpr int kNarrowestWrap = 12;

// Code points from `first` to `last`.
struct Range {
  std::uint32_t first;
  std::uint32_t last;
};
// Unicode East Asian Width W and F, in the coarse blocks that terminals agree on.
constexpr std::array<Range, 10> kWide = {{{0x1100, 0x115F},
                                          {0x2E80, 0x303E},
                                          {0x3041, 0xA4CF},
                                          {0xAC00, 0xD7A3},
                                          {0xF900, 0xFAFF},
                                          {0xFE30, 0xFE6F},
                                          {0xFF00, 0xFF60},
                                          {0xFFE0, 0xFFE6},
                                          {0x1F300, 0x1FAFF},
                                          {0x20000, 0x3FFFD}}};
// Combining marks, joiners and variation selectors.
constexpr std::array<Range, 4> kNoWidth = {{{0x0300, 0x036F}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}}};

template <std::size_t N>
bool In(const std::array<Range, N>& ranges, std::uint32_t code) {
  return std::any_of(ranges.begin(), ranges.end(), [code](Range r) { return code >= r.first && code <= r.last; });
}

// A character: its bytes in UTF-8, and the terminal columns that it takes.
struct Glyph {
  std::size_t bytes;
  int columns;
};

// The first character of valid, non-empty UTF-8.
Glyph FirstGlyph(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  const std::size_t bytes = std::min(length, text.size());
  std::uint32_t code = length == 1 ? lead : lead & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < bytes; ++i) code = (code << 6U) | (static_cast<unsigned char>(text[i]) & 0x3FU);
  return {bytes, In(kNoWidth, code) ? 0 : In(kWide, code) ? 2 : 1};
}

// Bytes of the longest start of `text` within `width` columns; at least one character.
std::size_t FittingBytes(std::string_view text, int width) {
  std::size_t at = 0;
  int used = 0;
  while (at < text.size()) {
    const Glyph glyph = FirstGlyph(text.substr(at));
    if (at > 0 && used + glyph.columns > width) break;
    used += glyph.columns;
    at += glyph.bytes;
  }
  return at;
}

// The cell with blanks up to `width` columns.
std::string Padded(std::string_view cell, int width, TableColumn::Align align) {
  const std::string blanks(static_cast<std::size_t>(std::max(0, width - DisplayWidth(cell))), ' ');
  return align == TableColumn::Align::kRight ? blanks + std::string(cell) : std::string(cell) + blanks;
}

// A cell of a row, "" if the row is short.
std::string_view CellOf(const TableRow& row, std::size_t column) {
  return column < row.size() ? std::string_view(row[column]) : std::string_view();
}

// The width of a column that is not printed.
constexpr int kLeftOut = -1;

// The width of a line, without indent.
int TotalWidth(std::span<const int> widths) {
  int total = 0;
  for (const int w : widths) {
    if (w != kLeftOut) total += w + (total > 0 ? kColumnGap : 0);
  }
  return total;
}

// The widest wrapping column that can still shrink; null if none can.
int* WidestWrapping(std::span<const TableColumn> columns, std::span<int> widths) {
  int* widest = nullptr;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (!columns[c].wraps || widths[c] <= kNarrowestWrap) continue;
    if (widest == nullptr || widths[c] > *widest) widest = &widths[c];
  }
  return widest;
}

// Fits the table into the terminal. It shrinks wrapping columns, the widest first, and then drops expendable columns,
// the last first.
std::vector<int> ColumnWidths(std::span<const TableColumn> columns, std::span<const TableRow> rows, int width) {
  std::vector<int> widths;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    int widest = DisplayWidth(columns[c].header);
    for (const TableRow& row : rows) widest = std::max(widest, DisplayWidth(Printable(CellOf(row, c))));
    widths.push_back(widest);
  }
  // One column at a time, so that wrapping columns end up about equally wide.
  while (TotalWidth(widths) > width) {
    int* const widest = WidestWrapping(columns, widths);
    if (widest == nullptr) break;
    --*widest;
  }
  for (std::size_t c = columns.size(); c-- > 0 && TotalWidth(widths) > width;) {
    if (columns[c].expendable) widths[c] = kLeftOut;
  }
  return widths;
}

void TrimRight(std::string& line) { line.erase(line.find_last_not_of(' ') + 1); }

// Prints one row on as many lines as its tallest cell needs.
void AppendRow(std::span<const TableColumn> columns, std::span<const int> widths, const TableRow& row, int indent,
               std::string* out) {
  std::vector<std::vector<std::string>> cells;
  std::size_t height = 1;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const std::string cell = Printable(CellOf(row, c));
    const bool fits = !columns[c].wraps || widths[c] == kLeftOut || DisplayWidth(cell) <= widths[c];
    cells.push_back(fits ? std::vector<std::string>{cell} : WrapWords(cell, widths[c]));
    height = std::max(height, cells.back().size());
  }
  for (std::size_t y = 0; y < height; ++y) {
    std::string line(static_cast<std::size_t>(indent), ' ');
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (widths[c] == kLeftOut) continue;
      if (c > 0) line.append(kColumnGap, ' ');
      line += Padded(y < cells[c].size() ? cells[c][y] : std::string(), widths[c], columns[c].align);
    }
    TrimRight(line);
    *out += line + "\n";
  }
}

}  // namespace

int DisplayWidth(std::string_view text) {
  int width = 0;
  while (!text.empty()) {
    const Glyph glyph = FirstGlyph(text);
    width += glyph.columns;
    text.remove_prefix(glyph.bytes);
  }
  return width;
}

// One column is left for the ellipsis.
std::string Shortened(std::string_view text, int width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  return std::string(text.substr(0, FittingBytes(text, width - 1))) + "…";
}

namespace {

// The text up to the next blank. Keeps a number and its percent sign together when a cell wraps.
std::string_view FirstWord(std::string_view text) {
  std::size_t end = text.find(' ');
  if (end < text.size() && text.substr(end + 1, 1) == "%") end = text.find(' ', end + 1);
  return text.substr(0, end);
}

}  // namespace

std::vector<std::string> WrapWords(std::string_view text, int width) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    std::string_view word = FirstWord(text);
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (word.empty()) continue;
    if (!line.empty() && DisplayWidth(line) + 1 + DisplayWidth(word) <= width) {
      line.append(1, ' ').append(word);
      continue;
    }
    if (!line.empty()) lines.push_back(std::move(line));
    while (DisplayWidth(word) > width) {
      const std::size_t bytes = FittingBytes(word, width);
      lines.emplace_back(word.substr(0, bytes));
      word.remove_prefix(bytes);
    }
    line = word;
  }
  if (!line.empty() || lines.empty()) lines.push_back(std::move(line));
  return lines;
}

std::string LayOutTable(std::span<const TableColumn> columns, std::span<const TableRow> rows, int width, int indent) {
  const std::vector<int> widths = ColumnWidths(columns, rows, width - indent);
  TableRow headers;
  for (const TableColumn& column : columns) headers.push_back(column.header);
  std::string out;
  AppendRow(columns, widths, headers, indent, &out);
  for (const TableRow& row : rows) AppendRow(columns, widths, row, indent, &out);
  return out;
}

namespace {

// The signs that reports use: bars, separators, ellipsis, plus-minus.
constexpr std::array<std::pair<std::string_view, std::string_view>, 16> kSigns = {{
    {"·", "."},
    {"▁", "_"},
    {"▒", "%"},
    {"▃", "-"},
    {"▅", "="},
    {"█", "#"},
    {"╳", "x"},
    {"▏", " "},
    {"▎", " "},
    {"▍", " "},
    {"▌", "#"},
    {"▋", "#"},
    {"▊", "#"},
    {"▉", "#"},
    {"…", "~"},
    {"±", "+-"},
}};

bool IsAscii(char c) { return static_cast<unsigned char>(c) < 0x80; }
bool IsTail(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }  // of a character of several bytes

}  // namespace

std::string AsciiOnly(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (IsAscii(text[at])) {
      out += text[at++];
      continue;
    }
    std::size_t end = at + 1;
    while (end < text.size() && IsTail(text[end])) ++end;
    const std::string_view sign = text.substr(at, end - at);
    const auto known = std::find_if(kSigns.begin(), kSigns.end(), [&](const auto& s) { return s.first == sign; });
    if (known != kSigns.end()) {
      out += known->second;
    } else {
      out.append(static_cast<std::size_t>(DisplayWidth(sign)), '?');
    }
    at = end;
  }
  return out;
}

void AppendMarkdownRows(const std::vector<TableColumn>& columns, const std::vector<TableRow>& rows, std::string* out) {
  if (rows.empty()) return;
  *out += "|";
  for (const TableColumn& column : columns) *out += " " + MarkdownEscaped(column.header) + " |";
  *out += "\n|";
  for (const TableColumn& column : columns) {
    *out += column.align == TableColumn::Align::kRight ? " ---: |" : " :--- |";
  }
  *out += "\n";
  for (const TableRow& row : rows) {
    *out += "|";
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const std::string cell = c < row.size() ? MarkdownEscaped(row[c]) : std::string();
      *out += (cell.starts_with("  ") ? " –" + cell.substr(1) : " " + cell) + " |";  // Markdown has no indented rows
    }
    *out += "\n";
  }
}

}  // namespace idleburn
