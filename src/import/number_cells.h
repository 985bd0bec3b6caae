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
    std::size_t slot;  // of the signal in Sample::value
  };
  std::array<Half, 2> half;
  std::array<std::int32_t, 4> most;
  std::array<std::uint64_t, 2> scale;
};

// Reads the usual row: every number in the form of its column, after at most one blank, and in range. Sets only
// values of the sample. False if a cell is otherwise; then what it set is of no use.
//   ends     where each cell of the row ends in `text`, and before them where the cell before the row ended;
//            NumberForm::kLook bytes before every end may be read
bool ReadNumbers(std::span<const NumberPair> pairs, const char* text, const std::uint32_t* ends, Sample& sample);
// The same, character by character, for machines without such instructions.
bool ReadNumbersPlainly(std::span<const NumberPair> pairs, const char* text, const std::uint32_t* ends,
                        Sample& sample);

}  // namespace idleburn
