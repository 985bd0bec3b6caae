#include "bill/bill_validate.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace idleburn {
namespace {

using Cells = std::map<std::string, std::string>;

// One hour of a machine that keeps every rule.
Cells Good() {
  return {{"BilledCost", "60.8"},
          {"EffectiveCost", "60.8"},
          {"ListCost", "64"},
          {"ContractedCost", "60.8"},
          {"ListUnitPrice", "64"},
          {"ContractedUnitPrice", "60.8"},
          {"PricingQuantity", "1"},
          {"PricingUnit", "Hours"},
          {"ConsumedQuantity", "1"},
          {"ConsumedUnit", "Hours"},
          {"BillingPeriodStart", "2026-09-01T00:00:00Z"},
          {"BillingPeriodEnd", "2026-10-01T00:00:00Z"},
          {"ChargePeriodStart", "2026-09-02T03:00:00Z"},
          {"ChargePeriodEnd", "2026-09-02T04:00:00Z"},
          {"ChargeCategory", "Usage"},
          {"ChargeClass", ""},
          {"ChargeDescription", "gpu hour"},
          {"ChargeFrequency", "Usage-Based"},
          {"PricingCategory", "Standard"},
          {"BillingAccountId", "ba"},
          {"BillingCurrency", "USD"},
          {"BillingAccountName", "Example"},
          {"InvoiceIssuerName", "Cloud"},
          {"ProviderName", "Cloud"},
          {"PublisherName", "Cloud"},
          {"InvoiceId", "INV"},
          {"ServiceCategory", "Compute"},
          {"ServiceName", "VM"},
          {"ServiceSubcategory", "Virtual Machines"},
          {"ResourceId", "i-1"},
          {"SkuId", "s"},
          {"SkuPriceId", "p"},
          {"Tags", "\"{\"\"team\"\": \"\"a\"\"}\""},
          {"SkuPriceDetails", ""},
          {"CommitmentDiscountId", ""},
          {"CommitmentDiscountStatus", ""}};
}

Cells With(Cells cells, const Cells& other) {
  for (const auto& [column, text] : other) cells[column] = text;
  return cells;
}

std::string Csv(const std::vector<Cells>& rows, const std::string& more_columns = "",
                const std::string& more_cells = "") {
  std::string text;
  for (const auto& [column, cell] : rows.front()) text += (text.empty() ? "" : ",") + column;
  text += more_columns + "\n";
  for (const Cells& row : rows) {
    std::string line;
    for (const auto& [column, cell] : rows.front())
      line += (line.empty() ? "" : ",") + (row.contains(column) ? row.at(column) : "");
    text += line + more_cells + "\n";
  }
  return text;
}

std::set<std::string> Broken(const std::string& csv) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("bill_validate_" + std::to_string(getpid()) + ".csv")).string();
  std::ofstream(path) << csv;
  const Result<BillValidation> validation = ValidateBill(path, {});
  std::filesystem::remove(path);
  if (!validation) return {validation.error().message};
  std::set<std::string> rules;
  for (const BrokenRule& broken : validation->broken) rules.insert(std::string(Facts(broken.rule).name));
  return rules;
}

const Cells kCommitted = {{"PricingCategory", "Committed"},
                          {"CommitmentDiscountId", "cd"},
                          {"CommitmentDiscountStatus", "Used"},
                          {"BilledCost", "0"},
                          {"EffectiveCost", "40"}};
const Cells kPurchase = {{"ChargeCategory", "Purchase"},
                         {"ChargeFrequency", "Recurring"},
                         {"CommitmentDiscountId", "cd"},
                         {"ResourceId", "cd"},
                         {"EffectiveCost", "0"},
                         {"ConsumedQuantity", ""},
                         {"Tags", ""},
                         {"ChargePeriodEnd", "2026-10-01T00:00:00Z"}};
const Cells kTax = {{"ChargeCategory", "Tax"},
                    {"ChargeFrequency", "One-Time"},
                    {"PricingCategory", ""},
                    {"PricingQuantity", ""},
                    {"ListUnitPrice", ""},
                    {"ContractedUnitPrice", ""},
                    {"SkuId", ""},
                    {"SkuPriceId", ""},
                    {"ConsumedQuantity", ""},
                    {"ListCost", "5"},
                    {"ContractedCost", "5"},
                    {"BilledCost", "5"},
                    {"EffectiveCost", "5"}};
const Cells kCredit = {{"ChargeCategory", "Credit"}, {"ChargeFrequency", "One-Time"}, {"PricingQuantity", ""},
                       {"ListUnitPrice", ""},        {"ContractedUnitPrice", ""},     {"ConsumedQuantity", ""},
                       {"ListCost", "-5"},           {"ContractedCost", "-5"},        {"BilledCost", "-5"},
                       {"EffectiveCost", "-5"}};
const Cells kCorrection = {{"ChargeClass", "Correction"},
                           {"ChargePeriodStart", "2026-08-02T03:00:00Z"},
                           {"ChargePeriodEnd", "2026-08-02T04:00:00Z"},
                           {"BilledCost", "-3"},
                           {"EffectiveCost", "-3"}};

TEST(BillValidateTest, GoodRowsBreakNothing) {
  EXPECT_EQ(Broken(Csv({Good(), With(Good(), kCommitted), With(Good(), kPurchase), With(Good(), kTax),
                        With(Good(), kCredit), With(Good(), kCorrection)})),
            std::set<std::string>());
}

// A row that breaks one rule and no other.
struct PlantedCase {
  const char* rule;
  Cells base;
  Cells change;
};
std::vector<PlantedCase> PlantedCases() {
  const Cells unused = With(With(Good(), kCommitted),
                            {{"CommitmentDiscountStatus", "Unused"}, {"ResourceId", "cd"}, {"ConsumedQuantity", ""}});
  EXPECT_EQ(Broken(Csv({unused})), std::set<std::string>());
  return {
      {"literal_null", Good(), {{"CommitmentDiscountStatus", "NULL"}}},
      {"literal_null", Good(), {{"ConsumedQuantity", "N/A"}}},
      {"quoted_empty", Good(), {{"CommitmentDiscountStatus", "\"\""}}},
      {"quoted_empty", Good(), {{"ConsumedQuantity", "\"\""}}},
      {"null_not_allowed", Good(), {{"ProviderName", ""}}},
      {"null_not_allowed", Good(), {{"ChargePeriodEnd", ""}}},
      {"bad_number", Good(), {{"ListCost", "+64"}}},
      {"bad_number", Good(), {{"BilledCost", "6.08E+1"}}},
      {"bad_number", Good(), {{"BilledCost", "sixty"}}},
      {"bad_time", Good(), {{"ChargePeriodStart", "2026-09-02T05:00:00+02:00"}}},
      {"bad_time", Good(), {{"BillingPeriodStart", "2026-09-01"}}},
      {"bad_currency", Good(), {{"BillingCurrency", "usd"}}},
      {"bad_key_values", Good(), {{"Tags", "team=a"}}},
      {"bad_key_values", Good(), {{"Tags", "\"{\"\"a\"\": [1]}\""}}},
      {"bad_key_values", Good(), {{"Tags", "\"{\"\"a\"\": 1, \"\"a\"\": 2}\""}}},
      {"sku_price_key", Good(), {{"SkuPriceDetails", "\"{\"\"GpuModel\"\": \"\"H100\"\"}\""}}},
      {"unknown_value", Good(), {{"ChargeFrequency", "Daily"}}},
      {"unit_form", Good(), {{"ConsumedUnit", "gpu_hours"}}},
      {"subcategory_parent", Good(), {{"ServiceSubcategory", "AI Platforms"}}},
      {"subcategory_parent", Good(), {{"ServiceSubcategory", "Other (Storage)"}}},
      {"correction_in_open_period", Good(), {{"ChargeClass", "Correction"}}},
      {"frequency_of_purchase", With(Good(), kPurchase), {{"ChargeFrequency", "Usage-Based"}}},
      {"tax_not_null", With(Good(), kTax), {{"SkuId", "s"}}},
      {"tax_not_null", With(Good(), kTax), {{"PricingCategory", "Standard"}}},
      {"usage_null", Good(), {{"SkuPriceId", ""}}},
      {"consumed_quantity", With(Good(), kPurchase), {{"ConsumedQuantity", "1"}}},
      {"purchase_committed", With(Good(), kPurchase), {{"PricingCategory", "Committed"}}},
      {"purchase_resource", With(Good(), kPurchase), {{"ResourceId", "i-1"}}},
      {"unused_resource", unused, {{"ResourceId", "i-1"}}},
      {"used_resource", With(Good(), kCommitted), {{"ResourceId", "cd"}}},
      {"commitment_status", With(Good(), kCommitted), {{"CommitmentDiscountStatus", ""}}},
      {"credit_amounts", With(Good(), kCredit), {{"ListCost", "-6"}}},
      {"list_product", Good(), {{"ListCost", "63"}}},
      {"contracted_product", Good(), {{"ContractedCost", "60.9"}}},
      {"commitment_billed_twice", With(Good(), kCommitted), {{"BilledCost", "60.8"}}},
      {"purchase_has_effective_cost", With(Good(), kPurchase), {{"EffectiveCost", "1"}}},
      {"quantity_exceeds_period",
       Good(),
       {{"PricingQuantity", "2"}, {"ListCost", "128"}, {"ContractedCost", "121.6"}, {"BilledCost", "121.6"}}},
      {"outside_billing_period",
       Good(),
       {{"ChargePeriodStart", "2026-08-02T03:00:00Z"}, {"ChargePeriodEnd", "2026-08-02T04:00:00Z"}}},
      {"negative_usage", Good(), {{"BilledCost", "-60.8"}}},
      {"empty_period", Good(), {{"ChargePeriodEnd", "2026-09-02T03:00:00Z"}}},
      {"above_list", Good(), {{"ContractedUnitPrice", "70"}, {"ContractedCost", "70"}}},
  };
}

TEST(BillValidateTest, EachRuleIsFoundAndNoOther) {
  for (const PlantedCase& c : PlantedCases()) {
    EXPECT_EQ(Broken(Csv({With(c.base, c.change)})), std::set<std::string>{c.rule})
        << c.change.begin()->first << " = " << c.change.begin()->second;
  }
}

TEST(BillValidateTest, RulesOfSeveralRowsAndOfTheHeader) {
  const Cells other = With(Good(), {{"ResourceId", "i-2"}});
  EXPECT_EQ(Broken(Csv({Good(), other, Good()})), std::set<std::string>{"duplicate_row"});
  EXPECT_EQ(Broken(Csv({Good(), other, With(Good(), {{"ResourceId", "i-3"}, {"BillingCurrency", "EUR"}})})),
            std::set<std::string>{"foreign_currency"});
  // The purchase ends with its usage: 60.8 paid and 40 used.
  const Cells purchase = With(With(Good(), kPurchase), {{"ChargePeriodEnd", "2026-09-02T04:00:00Z"}});
  EXPECT_EQ(Broken(Csv({With(Good(), kCommitted), purchase})), std::set<std::string>{"commitment_sum"});
  EXPECT_EQ(Broken(Csv({With(With(Good(), kCommitted), {{"EffectiveCost", "60.8"}}), purchase})),
            std::set<std::string>());
  Cells without = Good();
  without.erase("PublisherName");
  EXPECT_EQ(Broken(Csv({without})), std::set<std::string>{"column_missing"});
  EXPECT_EQ(Broken(Csv({Good()}, ",x_GpuUuid", ",GPU-1")), std::set<std::string>());
  EXPECT_EQ(Broken(Csv({Good()}, ",gpu_uuid", ",GPU-1")), std::set<std::string>{"custom_column"});
  EXPECT_EQ(Broken(Csv({Good()}) + "a,b\n"), std::set<std::string>{"malformed_row"});
}

// A row that differs in a column of one's own is no copy.
TEST(BillValidateTest, CustomColumnsTellRowsApart) {
  std::string csv = Csv({Good()}, ",x_GpuUuid", ",GPU-1");
  const std::string row = csv.substr(csv.find('\n') + 1);
  EXPECT_EQ(Broken(csv + row.substr(0, row.size() - 2) + "2\n"), std::set<std::string>());
  EXPECT_EQ(Broken(csv + row), std::set<std::string>{"duplicate_row"});
}

// No rule that validate may print is left out of the tests above.
TEST(BillValidateTest, EveryRuleIsPlanted) {
  std::set<std::string> planted = {"column_missing", "custom_column",    "malformed_row",
                                   "commitment_sum", "foreign_currency", "duplicate_row"};
  for (const PlantedCase& c : PlantedCases()) planted.insert(c.rule);
  std::set<std::string> printed;
  for (const BillRuleFacts& rule : kBillRules) {
    if (rule.use != RuleUse::kMismatch) printed.insert(std::string(rule.name));
  }
  EXPECT_EQ(planted, printed);
}

// A cost may have eighteen decimals, since a product of two numbers with nine has them.
TEST(BillValidateTest, ExactProductsMayHaveMoreDecimals) {
  const Cells exact = {{"ListUnitPrice", "2.123456789"},        {"ContractedUnitPrice", "2.123456789"},
                       {"PricingQuantity", "0.123456"},         {"ListCost", "0.262153481342784"},
                       {"ContractedCost", "0.262153481342784"}, {"BilledCost", "0.262153481342784"},
                       {"EffectiveCost", "0.262153481342784"}};
  EXPECT_EQ(Broken(Csv({With(Good(), exact)})), std::set<std::string>());
  EXPECT_EQ(Broken(Csv({With(With(Good(), exact), {{"ListCost", "0.262153482342784"}})})),
            std::set<std::string>{"list_product"});
}

TEST(BillValidateTest, OtherFormatsAreRefused) {
  EXPECT_NE(Broken("a,b\n1,2\n").begin()->find("--columns"), std::string::npos);
}

// A quarter of a gigabyte that no buffer holds, with a broken row in its middle: counted, located, and the rest is
// read.
TEST(BillValidateTest, ABrokenRowOfAHugeFileIsLocated) {
  constexpr std::int64_t kRows = 800'000;
  constexpr std::int64_t kBroken = 412'345;  // its line
  class HugeSource final : public ByteSource {
   public:
    Result<std::size_t> Read(std::span<char> out) override {
      std::size_t put = 0;
      while (put < out.size() && line_ <= kRows) {
        const std::string& text = line_ == 1 ? head_ : line_ == kBroken ? broken_ : row_;
        const std::size_t part = std::min(out.size() - put, text.size() - at_);
        std::copy_n(text.data() + at_, part, out.data() + put);
        put += part;
        at_ += part;
        if (at_ < text.size()) continue;
        at_ = 0;
        ++line_;
      }
      return put;
    }
    [[nodiscard]] bool truncated() const override { return false; }
    [[nodiscard]] const std::string& name() const override { return name_; }

   private:
    const std::string text_ = Csv({Good()});
    const std::string head_ = text_.substr(0, text_.find('\n') + 1);
    const std::string row_ = text_.substr(head_.size());
    const std::string broken_ = "60.8,\"an open quote,\n";
    const std::string name_ = "huge.csv";
    std::int64_t line_ = 1;
    std::size_t at_ = 0;
  } source;
  class CountingSink final : public BillSink {
   public:
    std::int64_t cost = 0;
    std::vector<std::int64_t> malformed;
    Result<void> OnItem(std::int64_t, const BillItem&) override { return {}; }
    Result<void> OnRow(const BillRow& row) override {
      cost += row.Number(FocusColumn::kBilledCost) / 100'000'000;
      return {};
    }
    Result<void> OnFinding(std::int64_t line, const BillRow*, const RowFinding& finding) override {
      if (finding.rule == BillRule::kMalformedRow) malformed.push_back(line);
      return {};
    }
  } sink;
  const Result<BillFileFacts> facts = ReadBillText(source, {}, sink);
  ASSERT_TRUE(facts.has_value()) << facts.error().message;
  EXPECT_EQ(sink.malformed, std::vector<std::int64_t>{kBroken});
  EXPECT_EQ(facts->malformed, 1);
  EXPECT_EQ(facts->rows, kRows - 2);
  EXPECT_EQ(sink.cost, (kRows - 2) * 608);
}

// A file that grows while it is read is refused.
TEST(BillValidateTest, AChangingFileIsRefused) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("bill_grows_" + std::to_string(getpid()) + ".csv")).string();
  std::ofstream(path) << Csv({Good(), Good()});
  class GrowingSink final : public BillSink {
   public:
    explicit GrowingSink(std::string path) : path_(std::move(path)) {}
    Result<void> OnItem(std::int64_t, const BillItem&) override { return {}; }
    Result<void> OnRow(const BillRow&) override {
      std::ofstream(path_, std::ios::app) << "x\n";
      return {};
    }
    Result<void> OnFinding(std::int64_t, const BillRow*, const RowFinding&) override { return {}; }

   private:
    std::string path_;
  } sink(path);
  const Result<BillFileFacts> facts = ReadBill(path, {}, sink);
  std::filesystem::remove(path);
  ASSERT_FALSE(facts.has_value());
  EXPECT_NE(facts.error().message.find("changed while idleburn read it"), std::string::npos);
}

}  // namespace
}  // namespace idleburn
