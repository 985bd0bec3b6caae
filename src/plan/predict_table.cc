#include "plan/predict_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "plan/cell_words.h"
#include "plan/column_names.h"
#include "text/csv.h"
#include "text/escape.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {
namespace {

// What can be asked for, first as it is called here.
constexpr std::array<std::string_view, 3> kQuantities = {"tokens_s_per_gpu", "peak_bytes", "s_per_iter"};
constexpr std::array<std::string_view, kQuantities.size()> kOtherNames = {
    "|tokenssgpu|tokenspersecondpergpu|tokenspersecpergpu|tokenspergpupersecond|tps|tokenssecgpu|tokenspergpus|",
    "|peakmemorybytes|peakmembytes|memorybytes|peakmemory|",
    "|siter|secondsperiter|secperiter|secondsperstep|sperstep|"};

// The quantity that a cell asks for, however it is written; empty if it is none.
std::string_view QuantityNamed(std::string_view text) {
  const std::string plain = Squash(text);
  for (std::size_t i = 0; i < kQuantities.size(); ++i) {
    const bool other = !plain.empty() && kOtherNames[i].find("|" + plain + "|") != std::string_view::npos;
    if (other || plain == Squash(kQuantities[i])) return kQuantities[i];
  }
  return {};
}

Result<Prediction> Usable(const Prediction& prediction) {
  if (std::isfinite(prediction.high) && prediction.low > 0) return prediction;
  return Fail("its numbers are beyond what a run can be");
}

Result<Prediction> PredictRow(const Calibration& calibration, const TableCells& cells, std::string_view asked) {
  const std::string_view quantity = QuantityNamed(asked);
  if (quantity.empty()) {
    return Fail("quantity '" + std::string(asked.substr(0, 20)) +
                "' is none of tokens_s_per_gpu, peak_bytes, s_per_iter");
  }
  const RunRow row = TRY(ReadRunRow(cells));
  TRY(CheckFacts(row.facts));
  if (quantity == "peak_bytes") {
    const std::optional<Prediction> bytes = PredictPeakBytes(calibration, row);
    if (!bytes) return Fail("no coefficients for memory");
    return Usable(*bytes);
  }
  std::optional<Prediction> rate = PredictTokensPerSecond(calibration, row);
  if (!rate) return Fail("GPU '" + row.run.gpu.substr(0, 40) + "' is not in the table of rates");
  if (quantity == "tokens_s_per_gpu") return Usable(*rate);
  const double tokens = row.tokens_per_iter;
  return Usable({tokens / rate->likely, tokens / rate->high, tokens / rate->low, rate->nearness});
}

TableCells CellsOf(const CsvTable& table, std::set<std::string>& unknown) {
  TableCells cells;
  for (const std::string& column : table.columns()) {
    const std::string plain = PlainColumn(column);
    if (!IsKnownColumn(plain)) unknown.insert(column);
    std::string& cell = cells[plain];
    if (cell.empty() && !IsBlankCell(plain, table.Cell(column))) cell = Trim(table.Cell(column));
  }
  const TableCells config = ReadConfigCell(cells["config"]);
  for (const auto& [name, value] : config) {
    const std::string plain = PlainColumn(name);
    if (!IsKnownColumn(plain)) unknown.insert(name);
    if (!IsBlankCell(plain, value)) cells[plain] = value;
  }
  for (const std::string_view result : ResultColumns()) {  // not looked at
    const auto found = cells.find(result);
    if (found != cells.end()) cells.erase(found);
  }
  return cells;
}

// The column of that name as its header writes it.
Result<std::string> HeadOf(const CsvTable& table, std::string_view name) {
  for (const std::string& column : table.columns()) {
    if (Squash(column) == name) return column;
  }
  const std::string first = table.columns().empty() ? "" : table.columns().front();
  const bool other = first.find_first_of(";\t") != std::string::npos;
  return Fail(table.Where() + ": no column '" + std::string(name) + "' in the header; " +
              (other ? "separate columns by commas" : "add it"));
}

}  // namespace

TableCells ReadConfigCell(std::string_view text) {
  TableCells cells;
  std::string* last = nullptr;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(';'), text.size());
    const std::string_view piece = text.substr(0, end);
    const std::size_t equals = piece.find('=');
    if (equals != std::string_view::npos) {
      last = &cells[std::string(Trim(piece.substr(0, equals)))];
      *last = Trim(piece.substr(equals + 1));
    } else if (last != nullptr && !Trim(piece).empty()) {
      *last += ";" + std::string(Trim(piece));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return cells;
}

Result<PredictedTable> PredictTable(ByteSource& in, const Calibration& calibration) {
  CsvTable table(in);
  TRY(table.ReadHeader());
  const std::string key_column = TRY(HeadOf(table, "key"));
  const std::string quantity_column = TRY(HeadOf(table, "quantity"));
  PredictedTable answer;
  answer.csv = "key,predicted,low,high\n";
  std::set<std::string> unknown;
  std::set<std::string> answered;
  while (true) {
    const bool more = TRY(table.Next());
    if (!more) break;
    ++answer.rows;
    const std::string key(table.Cell(key_column));
    if (!key.empty() && !answered.insert(key).second) ++answer.repeated_keys;
    const TableCells cells = CellsOf(table, unknown);
    const Result<Prediction> prediction = PredictRow(calibration, cells, table.Cell(quantity_column));
    answer.csv += CsvCell(key);
    if (!prediction) {
      ++answer.reasons[prediction.error().message];
      answer.csv += ",,,\n";
      continue;
    }
    ++answer.predicted;
    ++answer.nearness[std::string(Name(prediction->nearness))];
    answer.csv += fmt::format(",{:.6g},{:.6g},{:.6g}\n", prediction->likely, prediction->low, prediction->high);
  }
  answer.unknown_columns.assign(unknown.begin(), unknown.end());
  return answer;
}

}  // namespace idleburn
