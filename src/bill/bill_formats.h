#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bill/bill_table.h"
#include "bill/focus_columns.h"

// Which billing exports are read, and how their columns become those of FOCUS. FOCUS itself is one of them. Others are
// rows of a table: a source column for a FOCUS column, and a few rules for cells that need more than a name.
namespace idleburn {

enum class BillFormat : std::uint8_t { kFocus, kAwsCur, kAzure, kGcp, kMapped };
inline constexpr std::array<std::string_view, 5> kBillFormatNames = {"focus", "aws_cur", "azure", "gcp", "columns"};

// The cells of a row by FOCUS column.
using FocusCells = std::array<BillCell, kFocusColumnCount>;

// How the columns of a file are read.
class ColumnPlan {
 public:
  // Chooses the format by the header. `mapping` is --columns: a file or a list "BilledCost=amount,ResourceName=node";
  // empty for none. Fails if the header is of no known format, and names what is missing.
  static Result<ColumnPlan> Make(const std::vector<std::string>& header, const std::string& mapping,
                                 const std::string& file);

  [[nodiscard]] BillFormat format() const { return format_; }
  // Whether the file has a column, or the format fills it.
  [[nodiscard]] bool Has(FocusColumn column) const { return place_[Index(column)] >= 0; }
  // The columns that have no FOCUS column, by their place.
  [[nodiscard]] const std::vector<std::size_t>& extra() const { return extra_; }
  // Sets the cells of a row. Texts that the format changes live until the next call.
  void Read(std::span<const BillCell> row, FocusCells* cells);

 private:
  void TranslateAws(std::span<const BillCell> row, FocusCells* cells);
  void TranslateAzure(std::span<const BillCell> row, FocusCells* cells);
  void TranslateGcp(std::span<const BillCell> row, FocusCells* cells);
  void FillGaps(FocusCells* cells);
  // A cell of the source by the name of its column; null without one.
  [[nodiscard]] BillCell Source(std::span<const BillCell> row, std::string_view column) const;
  void Put(FocusCells* cells, FocusColumn column, std::string text);

  BillFormat format_ = BillFormat::kFocus;
  std::array<int, kFocusColumnCount> place_{};  // of the source column; -1: none
  std::vector<std::size_t> extra_;
  std::vector<std::string> header_;                  // squashed
  std::array<std::string, kFocusColumnCount> made_;  // texts that were changed
};

}  // namespace idleburn
