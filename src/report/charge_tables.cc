#include "report/charge_tables.h"

#include <algorithm>

#include "text/figures.h"

namespace idleburn {

std::string PolicyText(SharePolicy policy) {
  switch (policy) {
    case SharePolicy::kUniform:
      return "shared cost is split in equal parts (--share uniform)";
    case SharePolicy::kProportional:
      return "shared cost is split by direct cost (--share proportional)";
    case SharePolicy::kCustom:
      return "shared cost is split by the weights of --share-weights";
    case SharePolicy::kExperiments:
      return "shared cost is split over experiments by their GPU-hours (--share experiments)";
    default:
      return "shared cost is not split (--share none)";
  }
}

ReportTable ChargeTables::WhoPays(const std::string& who, const std::vector<std::string>& hours,
                                  const ShownCharges& shown) const {
  const bool commitments = std::any_of(charge.rows.begin(), charge.rows.end(),
                                       [](const ChargeRow& row) { return row.commitment != Money(); });
  ReportTable table;
  table.title = "Who pays";
  table.columns = {{who, kLeft}, {"GPU-hours", kRight}, {"direct", kRight}, {"shared", kRight}};
  if (commitments) table.columns.push_back({"unused commitment", kRight});
  table.columns.push_back({"total", kRight});
  const auto row = [&](const std::string& name, const std::string& time, const ShownCharge& pays, Money total) {
    TableRow cells = {name, time, Amount(pays.direct, currency), Amount(pays.shared, currency)};
    if (commitments) cells.push_back(Amount(pays.commitment, currency));
    cells.push_back(Amount(total, currency));
    table.rows.push_back(std::move(cells));
  };
  for (std::size_t i = 0; i < shown.rows.size(); ++i) {
    row(PayerText(charge.rows[i].name), hours[i], shown.rows[i], shown.rows[i].total);
  }
  for (std::size_t line = 0; line < shown.left.size(); ++line) {
    if (charge.left[line] == Money()) continue;
    TableRow cells = {"not charged: " + lines[line].name, "", "", ""};
    cells.resize(table.columns.size() - 1);
    cells.push_back(Amount(shown.left[line], currency));
    table.rows.push_back(std::move(cells));
  }
  row("total", "", shown.sum, shown.total);
  return table;
}

ReportTable ChargeTables::Shared() const {
  std::vector<Money> amounts;
  Money sum;
  for (const SharedCost& line : lines) {
    amounts.push_back(line.amount);
    sum = Money::Nano(sum.nano() + line.amount.nano());
  }
  const std::vector<Money> shown = RoundColumn(amounts, MinorUnit(currency)).value_or(amounts);
  ReportTable table;
  table.title = "Shared cost";
  table.columns = {{"line", kLeft}, {"amount", kRight}, {"split", kLeft}};
  for (std::size_t line = 0; line < shown.size(); ++line) {
    const bool split = policy != SharePolicy::kNone && lines[line].spread;
    table.rows.push_back(
        {lines[line].name, Amount(shown[line], currency), split ? std::string(Name(policy)) : "not split"});
  }
  if (!table.rows.empty()) table.rows.push_back({"total", Amount(sum, currency)});
  return table;
}

ReportTable ChargeTables::SharedOf(const ChargeRow& row, const ShownCharge& shown, const std::string& who) const {
  ReportTable table;
  table.title = "Shared cost";
  table.columns = {{"line", kLeft}, {"this " + who, kRight}};
  if (row.shared == Money()) return table;
  for (std::size_t line = 0; line < shown.of_lines.size(); ++line) {
    table.rows.push_back({lines[line].name, Amount(shown.of_lines[line], currency)});
  }
  table.rows.push_back({"total", Amount(shown.shared, currency)});
  return table;
}

}  // namespace idleburn
