#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "os/sqlite.h"
#include "text/strings.h"

namespace idleburn {

// Maps a column of a table of the history to a member of T, the struct of a row. One array of these writes, reads and
// exports a table. So a new column is one line, and none of the three can forget it.
template <typename T>
struct KeptColumn {
  // Texts and optional numbers. An empty text and an absent number are NULL in the file.
  using Member = std::variant<std::string T::*, std::optional<std::int64_t> T::*, std::optional<double> T::*>;
  std::string_view name;
  Member member;
};

// The value for the column; NULL for an empty text or an absent number.
template <typename T>
SqliteValue ColumnValue(const KeptColumn<T>& column, const T& row) {
  struct Visitor {
    const T& row;
    SqliteValue operator()(std::string T::*member) const {
      return (row.*member).empty() ? SqliteValue() : SqliteValue(row.*member);
    }
    SqliteValue operator()(std::optional<std::int64_t> T::*member) const {
      return row.*member ? SqliteValue(*(row.*member)) : SqliteValue();
    }
    SqliteValue operator()(std::optional<double> T::*member) const {
      return row.*member ? SqliteValue(*(row.*member)) : SqliteValue();
    }
  };
  return std::visit(Visitor{row}, column.member);
}

// Reads the value at `place` of the current row of `query` into the member. NULL becomes an empty text or an absent
// number.
template <typename T>
void TakeColumn(const KeptColumn<T>& column, const SqliteStatement& query, int place, T& row) {
  if (const auto* text = std::get_if<std::string T::*>(&column.member)) {
    row.*(*text) = std::string(query.Text(place).value_or(""));
  } else if (const auto* integer = std::get_if<std::optional<std::int64_t> T::*>(&column.member)) {
    row.*(*integer) = query.Integer(place);
  } else {
    row.*std::get<std::optional<double> T::*>(column.member) = query.Real(place);
  }
}

// The names of the columns for an SQL statement, in the order of the array: "a, b, c".
template <typename T>
std::string NamesOf(std::span<const KeptColumn<T>> columns) {
  return ListText(columns, ", ", &KeptColumn<T>::name);
}

}  // namespace idleburn
