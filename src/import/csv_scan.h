#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "telemetry/sample.h"

namespace idleburn {

// Vectorized reading of plain CSV, for logs of millions of equal rows: where the cells of a block end, and the
// numbers of columns that write all numbers alike. Used by SmiRowReader for the rows that look like their neighbors;
// whatever these functions do not recognize is read by its slower path. Quotes are not understood; nvidia-smi writes
// none.

// The positions of every ',' and '\n' in a block of text, in order. They are found for a whole block at once, 64
// bytes a step, so that reading a cell does not wait for the cell before it.
//
//     "a,bc\nd,e\n"  ->  cell_end {-1, 1, 4, 6, 8}, last_cell {0, 2, 4}, two lines
class Delimiters {
 public:
  // `text` holds `size` bytes and kPad more readable ones. Results of the previous block are dropped.
  static constexpr std::size_t kPad = 64;
  void Find(const char* text, std::size_t size);

  [[nodiscard]] std::size_t lines() const { return lines_; }
  // The ends of the cells of one line; the last is the end of the line. The element before the first is the end of the
  // previous line, or -1 for the first line.
  [[nodiscard]] std::span<const std::uint32_t> Line(std::size_t number) const {
    const std::uint32_t first = last_cell_[number] + 1;
    return {cell_end_.data() + first, last_cell_[number + 1] + 1 - first};
  }
  // The raw lists: the ends of all cells, and for each line the index of its last cell. Each list begins with an
  // element for the line before the first.
  [[nodiscard]] const std::uint32_t* cell_end() const { return cell_end_.data(); }
  [[nodiscard]] const std::uint32_t* last_cell() const { return last_cell_.data(); }

 private:
  std::vector<std::uint32_t> cell_end_;   // the first element is the end of the line before
  std::vector<std::uint32_t> last_cell_;  // of each line, as an index into cell_end_
  std::size_t lines_ = 0;
};

// How a column writes its numbers: the number of decimals and the unit behind them. A log repeats one form in every
// row, so a cell is compared with the form and read 16 characters at once, backwards from its end. Backwards, because
// the unit and the decimals have a fixed place there, however many digits come before.
struct NumberForm {
  static constexpr std::size_t kLook = 16;      // characters before a cell's end that may be read
  static constexpr std::size_t kMaxDigits = 8;  // of a number

  // A form that no cell has.
  NumberForm() = default;
  // The form of a cell that consists of `number` (digits with an optional point) and `suffix`. A form too long to be
  // read at once matches no cell. For example, NumberForm("200.16", " W") also matches "78.28 W".
  NumberForm(std::string_view number, std::string_view suffix);

  using Bytes = std::array<std::uint8_t, kLook>;
  // For each of the last kLook characters of a cell: the expected character, how far it may lie above that, and where
  // the digits of the number are.
  Bytes expected{};
  Bytes above{};
  Bytes digits{};
  std::size_t shortest = SIZE_MAX;  // a cell has `shortest` to `shortest` + `span` characters
  std::size_t span = 0;
  std::size_t decimals = 0;
};

// A column of numbers and its signal. A value is the number without its point times `scale`.
struct NumberColumn {
  std::size_t position = 0;  // among the columns of the row
  Signal signal = Signal::kUtilization;
  std::uint32_t scale = 0;  // signal units per unit of a number without its point ("200.16": 20016)
  std::int32_t most = 0;    // larger numbers are out of range
  NumberForm form;
};

// Two columns that are read together: their digits fill one vector register. A column may be paired with itself.
struct NumberPair {
  NumberPair(const NumberColumn& a, const NumberColumn& b);

  // What ReadNumbers needs of one column, copied so that a pair lies in one place.
  struct Half {
    NumberForm::Bytes expected;
    NumberForm::Bytes above;
    NumberForm::Bytes digits;
    std::size_t shortest;
    std::size_t span;
    std::size_t position;
    std::size_t signal;  // its Index
  };
  std::array<Half, 2> half;
  std::array<std::int32_t, 4> most;
  std::array<std::uint64_t, 2> scale;
};

// Input and output of ReadNumbers for the lines of a block.
struct NumberRows {
  const char* text;
  const std::uint32_t* cell_end;   // Delimiters::cell_end
  const std::uint32_t* last_cell;  // Delimiters::last_cell
  std::size_t lines;
  std::size_t columns;
  std::int64_t* const* values;  // by Index of a signal that is read: one value per line
  std::uint8_t* usual;          // per line: 1, or 0 if a number is not in its column's form or is out of range
};

// Reads the numbers of all lines that have `columns` cells, where a cell starts with at most one blank. Values of a
// line that is not usual are undefined. NumberForm::kLook bytes before the text must be readable.
void ReadNumbers(std::span<const NumberPair> pairs, const NumberRows& rows);
// The same, character by character, for machines without SSE4.1. Tests compare the two.
void ReadNumbersPlainly(std::span<const NumberPair> pairs, const NumberRows& rows);

}  // namespace idleburn
