#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "telemetry/sample.h"

namespace idleburn {

// How a column writes its numbers: with so many decimals, and such a unit behind. A log repeats one form in every
// row, so that a cell is checked against it and read many characters at once, backwards from its end.
struct NumberForm {
  static constexpr std::size_t kLook = 16;      // characters before a cell's end that may be read
  static constexpr std::size_t kMaxDigits = 8;  // of a number

  // A form that no cell has.
  NumberForm() = default;
  // The form of a cell that is `number` (digits, perhaps with a point between them) and then `suffix`. One that is
  // too long to be read at once matches no cell.
  NumberForm(std::string_view number, std::string_view suffix);

  using Bytes = std::array<std::uint8_t, kLook>;
  // Of the last kLook characters of a cell: what each is compared with, how far it may lie above that, and where in
  // them the number's digits are.
  Bytes expected{};
  Bytes above{};
  Bytes digits{};
  std::size_t shortest = SIZE_MAX;  // characters of a cell: from here to span more
  std::size_t span = 0;
  std::size_t decimals = 0;
};

// A column of numbers and the signal they are of.
struct NumberColumn {
  std::size_t position = 0;  // among the columns of the row
  Signal signal = Signal::kUtilization;
  std::uint32_t scale = 0;  // a number without its point ("200.16": 20016), in the signal's unit
  std::int32_t most = 0;    // numbers above this are none of the signal's
  NumberForm form;
};

// Two columns, as they are read together.
struct NumberPair {
  NumberPair(const NumberColumn& a, const NumberColumn& b);

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

// The lines of a block that ReadNumbers reads, and what it makes of them.
struct NumberRows {
  const char* text;
  const std::uint32_t* cell_end;   // of all cells, after one that would end the line before
  const std::uint32_t* last_cell;  // of each line, in cell_end, after one of the line before
  std::size_t lines;
  std::size_t columns;
  std::int64_t* const* values;  // by Index of each signal that is read: one for each line
  std::uint8_t* usual;  // for each line: 1, or 0 where a number is not in the form of its column or not in range
};

// Reads the numbers of all lines of `columns` cells, each after at most one blank. What it sets of a line that is not
// usual is of no use. NumberForm::kLook bytes before the text may be read.
void ReadNumbers(std::span<const NumberPair> pairs, const NumberRows& rows);
// The same, character by character, for machines without such instructions.
void ReadNumbersPlainly(std::span<const NumberPair> pairs, const NumberRows& rows);

}  // namespace idleburn
