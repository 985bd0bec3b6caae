// Billing exports other than the shared sample: other providers, other containers, and rows that are not as they should
// be. Each file is small, so that its sums can be checked by eye.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/money.h"
#include "import/duckdb_query.h"
#include "support/program.h"
#include "support/shared_data.h"

namespace idleburn::testing {
namespace {

using nlohmann::json;

json Reconciled(const std::string& words) {
  const ProgramRun run = RunIdleburn("bill reconcile " + words + " --format json");
  EXPECT_EQ(run.code, 0) << run.err;
  json document = json::parse(run.out, nullptr, false);
  EXPECT_TRUE(document.is_object()) << run.out;
  return document;
}

std::map<std::string, int> KindsOf(const json& bill) {
  std::map<std::string, int> kinds;
  for (const json& m : bill["mismatches"]) ++kinds[m["kind"]];
  return kinds;
}

std::map<std::string, std::int64_t> DoubtsOf(const json& bill) {
  std::map<std::string, std::int64_t> doubts;
  for (const json& d : bill["data_quality"]) doubts[d["id"]] += d["count"].get<std::int64_t>();
  return doubts;
}

constexpr const char* kSmallHeader =
    "BilledCost,EffectiveCost,ListCost,ContractedCost,BillingCurrency,BillingPeriodStart,BillingPeriodEnd,"
    "ChargePeriodStart,ChargePeriodEnd,ChargeCategory,ChargeClass,ChargeDescription,PricingQuantity,PricingUnit,"
    "BillingAccountId,BillingAccountName,InvoiceIssuerName,ProviderName,PublisherName,ServiceCategory,ServiceName,"
    "InvoiceId,ResourceId,Tags,SkuPriceDetails\n";

std::string SmallRow(const std::string& cost, const std::string& currency, const std::string& start,
                     const std::string& end, const std::string& resource, const std::string& team,
                     const std::string& invoice = "INV") {
  return fmt::format(
      "{0},{0},{0},{0},{1},2026-03-01T00:00:00Z,2026-04-01T00:00:00Z,{2},{3},Usage,,hour,1,Hours,ba,Example,Cloud,"
      "Cloud,"
      "Cloud,Compute,VM,{6},{4},\"{{\"\"team\"\": \"\"{5}\"\"}}\",\"{{\"\"GpuCount\"\": 1}}\"\n",
      cost, currency, start, end, resource, team, invoice);
}

class BillFormatsTest : public ::testing::Test {
 protected:
  TempFolder folder_;
};

TEST_F(BillFormatsTest, AwsCostAndUsageReport) {
  const std::string file = folder_.Write(
      "cur.csv",
      "identity_line_item_id,line_item_line_item_type,line_item_unblended_cost,line_item_usage_start_date,"
      "line_item_usage_end_date,bill_billing_period_start_date,bill_billing_period_end_date,line_item_currency_code,"
      "line_item_resource_id,product_instance_type,line_item_product_code,line_item_usage_type,resource_tags,"
      "reservation_effective_cost,reservation_reservation_a_r_n,savings_plan_savings_plan_effective_cost,"
      "savings_plan_savings_plan_a_r_n,bill_invoice_id\n"
      "1,Usage,32.77,2026-03-01T00:00:00.000Z,2026-03-01T01:00:00.000Z,2026-03-01T00:00:00.000Z,"
      "2026-04-01T00:00:00.000Z,USD,i-a,p4d.24xlarge,AmazonEC2,BoxUsage:p4d.24xlarge,\"{\"\"team\"\": "
      "\"\"nlp\"\"}\",,,,,7\n"
      "2,SavingsPlanCoveredUsage,32.77,2026-03-01T01:00:00.000Z,2026-03-01T02:00:00.000Z,2026-03-01T00:00:00.000Z,"
      "2026-04-01T00:00:00.000Z,USD,i-a,p4d.24xlarge,AmazonEC2,BoxUsage:p4d.24xlarge,\"{\"\"team\"\": \"\"nlp\"\"}\",,,"
      "20.5,arn:sp,7\n"
      "3,SavingsPlanNegation,-32.77,2026-03-01T01:00:00.000Z,2026-03-01T02:00:00.000Z,2026-03-01T00:00:00.000Z,"
      "2026-04-01T00:00:00.000Z,USD,,,AmazonEC2,,,,,,arn:sp,7\n"
      "4,SavingsPlanRecurringFee,25,2026-03-01T00:00:00.000Z,2026-04-01T00:00:00.000Z,2026-03-01T00:00:00.000Z,"
      "2026-04-01T00:00:00.000Z,USD,,,ComputeSavingsPlans,,,,,,arn:sp,7\n"
      "5,Tax,5.777,2026-03-01T00:00:00.000Z,2026-04-01T00:00:00.000Z,2026-03-01T00:00:00.000Z,"
      "2026-04-01T00:00:00.000Z,USD,,,AmazonEC2,,,,,,,7\n"
      "6,Usage,0.0000000123456,2026-03-01T00:00:00.000Z,2026-03-01T01:00:00.000Z,2026-03-01T00:00:00.000Z,"
      "2026-04-01T00:00:00.000Z,USD,vol-1,,AmazonEC2,EBS,\"{\"\"team\"\": \"\"nlp\"\"}\",,,,,7\n");
  const json bill = Reconciled(file);
  // 32.77 on demand + 25 fee + 5.777 tax; what the plan covered and its negation cancel each other.
  EXPECT_EQ(bill["invoice"]["rows_exact"], "63.547000012");
  EXPECT_EQ(bill["invoice"]["gpu"], "53.27");  // 32.77 + 20.50 effective
  EXPECT_EQ(bill["use"]["not_gpu_exact"], "5.777000012");
  EXPECT_EQ(bill["use"]["amortization"], "4.50");   // 25 - 20.50
  EXPECT_EQ(DoubtsOf(bill)["rounded_numbers"], 2);  // BilledCost, and EffectiveCost made from it
  EXPECT_EQ(bill["owners"][0]["name"], "nlp");
}

TEST_F(BillFormatsTest, AzureCostExport) {
  const std::string file = folder_.Write(
      "azure.csv",
      "invoiceId,billingAccountId,billingPeriodStartDate,billingPeriodEndDate,date,chargeType,frequency,pricingModel,"
      "meterCategory,meterName,quantity,unitOfMeasure,unitPrice,costInBillingCurrency,billingCurrency,resourceId,tags,"
      "additionalInfo,subscriptionId\n"
      "I1,b,03/01/2026,03/31/2026,03/02/2026,Usage,UsageBased,OnDemand,Virtual Machines,NC,24,1 Hour,3.06,73.44,EUR,"
      "/subscriptions/x/vm-1,\"\"\"team\"\": \"\"vision\"\"\",\"{\"\"ServiceType\"\": \"\"Standard_NC6s_v3\"\"}\",s\n"
      "I1,b,03/01/2026,03/31/2026,03/02/2026,Refund,OneTime,,Virtual Machines,,1,,0,-3.44,EUR,,,,s\n");
  const json bill = Reconciled(file);
  EXPECT_EQ(bill["invoice"]["currency"], "EUR");
  EXPECT_EQ(bill["invoice"]["total"], "70.00");
  EXPECT_EQ(bill["invoice"]["gpu"], "73.44");
  EXPECT_EQ(bill["owners"][0]["name"], "vision");
  EXPECT_TRUE(bill["mismatches"].empty()) << bill["mismatches"];
}

TEST_F(BillFormatsTest, GoogleCloudBillingExport) {
  const std::string file = folder_.Write(
      "gcp.csv",
      "billing_account_id,service.description,sku.id,sku.description,usage_start_time,usage_end_time,project.id,cost,"
      "currency,usage.amount_in_pricing_units,usage.pricing_unit,credits,cost_type,resource.name,labels\n"
      "01,Compute Engine,A,Nvidia Tesla T4 GPU running in Americas,2026-03-01 00:00:00 UTC,2026-03-01 01:00:00 UTC,p,"
      "2.80,USD,8,hour,\"[{\"\"name\"\":\"\"sud\"\",\"\"amount\"\":-0.30},{\"\"amount\"\":-0.5}]\",regular,vm-1,"
      "\"{\"\"team\"\": \"\"nlp\"\"}\"\n"
      "01,Compute Engine,B,N1 Core,2026-03-01 00:00:00 UTC,2026-03-01 01:00:00 UTC,p,1.00,USD,4,hour,[],regular,cpu-1,"
      "\"{\"\"team\"\": \"\"nlp\"\"}\"\n"
      "01,Invoice,C,Tax,2026-03-01 00:00:00 UTC,2026-03-31 00:00:00 UTC,p,0.25,USD,,,,tax,,\n");
  const json bill = Reconciled(file);
  EXPECT_EQ(bill["invoice"]["total"], "3.25");
  EXPECT_EQ(bill["invoice"]["gpu"], "2.00");
  EXPECT_EQ(bill["use"]["not_gpu"], "1.25");
}

TEST_F(BillFormatsTest, NamedColumns) {
  const std::string file = folder_.Write("lambda.csv", "instance,started,usd\ngpu-1,2026-03-01T00:00:00Z,1.10\n");
  const std::string map = folder_.Write("map.txt",
                                        "# what the export calls it\nBilledCost = usd\nResourceId=instance\n"
                                        "ChargePeriodStart=started\n");
  const std::string list = " --columns BilledCost=usd,ResourceId=instance,ChargePeriodStart=started";
  EXPECT_EQ(Reconciled(file + list)["invoice"]["total"], "1.10");
  EXPECT_EQ(Reconciled(file + " --columns " + map)["invoice"]["total"], "1.10");
  const ProgramRun unknown = RunIdleburn("bill reconcile " + file);
  EXPECT_EQ(unknown.code, 1);
  EXPECT_NE(unknown.err.find("--columns"), std::string::npos);
  EXPECT_EQ(RunIdleburn("bill reconcile " + file + " --columns cost=usd").code, 2);
}

// Both directions of a day with another number of hours, in every way of writing a zone.
TEST_F(BillFormatsTest, DaysOfTwentyThreeAndTwentyFiveHours) {
  std::string csv = kSmallHeader;
  // Berlin, 2026-03-29: 01:00+01:00 is followed by 03:00+02:00, one hour later.
  csv += SmallRow("1", "EUR", "2026-03-29T01:00:00+01:00", "2026-03-29T03:00:00+02:00", "i-1", "a");
  csv += SmallRow("1", "EUR", "2026-03-29T01:00:00Z", "2026-03-29T04:00:00+02:00", "i-1", "a");
  csv += SmallRow("1", "EUR", "2026-03-29 02:00:00 UTC", "2026-03-29T03:00:00.000Z", "i-1", "a");
  const json bill = Reconciled(folder_.Write("dst.csv", csv));
  EXPECT_EQ(bill["invoice"]["total"], "3.00");
  EXPECT_TRUE(bill["mismatches"].empty()) << bill["mismatches"];
}

// Two rows for one hour are a fault only if they bill more than the hour.
TEST_F(BillFormatsTest, OverlappingPeriodsAreNamed) {
  const auto half = [](const std::string& start, const std::string& end, const std::string& quantity,
                       const std::string& cost) {
    std::string row = SmallRow(cost, "USD", start, end, "i-1", "a");
    return row.replace(row.find(",hour,1,"), 8, ",hour," + quantity + ",");
  };
  const auto lines = [&](const std::string& rows) {
    std::map<std::int64_t, std::string> found;
    const json bill = Reconciled(folder_.Write("overlap.csv", kSmallHeader + rows));
    for (const json& m : bill["mismatches"]) {
      EXPECT_EQ(m["kind"], "overlapping_period") << m;
      EXPECT_EQ(m["effect"], "0.00");
      found[m["line"].get<std::int64_t>()] = m["amount"];
    }
    return found;
  };
  using Lines = std::map<std::int64_t, std::string>;
  const std::string first = half("2026-03-02T00:00:00Z", "2026-03-02T02:00:00Z", "2", "4");
  EXPECT_EQ(lines(first + half("2026-03-02T02:00:00Z", "2026-03-02T03:00:00Z", "1", "2")), Lines());
  // An hour of a row of two hours is billed again.
  EXPECT_EQ(lines(first + half("2026-03-02T01:00:00Z", "2026-03-02T03:00:00Z", "2", "4")), (Lines{{3, "2.00"}}));
  EXPECT_EQ(lines(first + half("2026-03-02T00:00:00Z", "2026-03-02T01:00:00Z", "1", "3")), (Lines{{3, "3.00"}}));
  // Half of an hour under a commitment, and half on demand.
  EXPECT_EQ(lines(half("2026-03-02T00:00:00Z", "2026-03-02T01:00:00Z", "0.5", "1") +
                  half("2026-03-02T00:00:00Z", "2026-03-02T01:00:00Z", "0.5", "1.5")),
            Lines());
  // The same hour with two amounts: a file restates its month, and --replace was forgotten.
  EXPECT_EQ(lines(half("2026-03-02T00:00:00Z", "2026-03-02T01:00:00Z", "1", "2") +
                  half("2026-03-02T00:00:00Z", "2026-03-02T01:00:00Z", "1", "2.5")),
            (Lines{{3, "2.50"}}));
}

TEST_F(BillFormatsTest, CurrenciesStayApart) {
  std::string csv = kSmallHeader;
  for (int hour = 0; hour < 5; ++hour) {
    const std::string start = fmt::format("2026-03-02T{:02}:00:00Z", hour);
    const std::string end = fmt::format("2026-03-02T{:02}:00:00Z", hour + 1);
    csv += SmallRow("2", "USD", start, end, "i-us", "a", "INV-US");
    if (hour < 3) csv += SmallRow("7", "EUR", start, end, "i-eu", "b", "INV-EU");
  }
  const std::string file = folder_.Write("two.csv", csv);
  const json dollars = Reconciled(file);
  EXPECT_EQ(dollars["invoice"]["currency"], "USD");
  EXPECT_EQ(dollars["invoice"]["total"], "10.00");
  EXPECT_EQ(dollars["other_currencies"][0]["billed"], "21.00");
  EXPECT_TRUE(dollars["mismatches"].empty()) << dollars["mismatches"];  // each invoice has one currency
  const std::string invoice =
      folder_.Write("i.json", R"({"total": "21.00", "BillingCurrency": "EUR", "lines": {"a": 1}})");
  const json euros = Reconciled(file + " --invoice " + invoice);
  EXPECT_EQ(euros["invoice"]["currency"], "EUR");
  EXPECT_EQ(euros["residual"], "0.00");
  EXPECT_EQ(euros["owners"][0]["name"], "b");
}

// $100 paid for a day that has ended, $40 used, $20 reported as unused: $40 went nowhere.
TEST_F(BillFormatsTest, ACommitmentThatEndedMustBeUsedUp) {
  const auto row = [](const std::string& billed, const std::string& effective, const std::string& category,
                      const std::string& status, const std::string& resource, const std::string& end) {
    return fmt::format(
        "{},{},100,100,USD,2026-03-01T00:00:00Z,2026-04-01T00:00:00Z,2026-03-02T00:00:00Z,{},{},,x,1,Hours,ba,Example,"
        "Cloud,Cloud,Cloud,Compute,VM,INV,{},,{},cd-1,{}\n",
        billed, effective, end, category, resource, status == "Used" ? "\"{\"\"GpuCount\"\": 1}\"" : std::string(),
        status);
  };
  const std::string header = std::string(kSmallHeader).substr(0, std::string(kSmallHeader).size() - 1) +
                             ",CommitmentDiscountId,CommitmentDiscountStatus\n";
  const auto bill = [&](const std::string& until) {
    return Reconciled(folder_.Write("cd.csv", header + row("100", "0", "Purchase", "", "cd-1", until) +
                                                  row("0", "40", "Usage", "Used", "i-1", "2026-03-03T00:00:00Z") +
                                                  row("0", "20", "Usage", "Unused", "cd-1", "2026-03-03T00:00:00Z")));
  };
  const json ended = bill("2026-03-03T00:00:00Z");
  EXPECT_EQ(KindsOf(ended)["commitment_unused"], 1);
  EXPECT_EQ(ended["commitments"][0]["used"], "40.00");
  EXPECT_EQ(ended["commitments"][0]["unused"], "20.00");
  EXPECT_EQ(ended["use"]["unallocated"], "20.00");
  EXPECT_EQ(ended["use"]["amortization"], "40.00");
  // Before its end nothing is lost.
  EXPECT_EQ(KindsOf(bill("2026-04-01T00:00:00Z")).count("commitment_unused"), 0U);
}

TEST_F(BillFormatsTest, BadRowsAreCountedAndLocated) {
  std::string csv = kSmallHeader;
  for (int hour = 0; hour < 20; ++hour) {
    csv += SmallRow("2", "USD", fmt::format("2026-03-02T{:02}:00:00Z", hour),
                    fmt::format("2026-03-02T{:02}:00:00Z", hour + 1), "i-1", "a");
    if (hour == 9) csv += "cut,off\n\"never closed,1,2\n";
  }
  const std::string file = folder_.Write("bad.csv", csv);
  const json bill = Reconciled(file);
  EXPECT_EQ(bill["invoice"]["total"], "40.00");
  EXPECT_EQ(DoubtsOf(bill)["malformed_rows"], 2);
  const json validation = json::parse(RunIdleburn("bill validate " + file + " --format json").out);
  for (const json& rule : validation["broken"]) {
    if (rule["rule"] != "malformed_row") continue;
    EXPECT_EQ(rule["first"][0]["line"], 12);
    EXPECT_EQ(rule["first"][1]["line"], 13);
  }
}

// Names and tags come from anyone: a formula for a spreadsheet, SQL for the store, escapes for a terminal.
TEST_F(BillFormatsTest, HostileTextDoesNothing) {
  std::string csv = kSmallHeader;
  const std::string evil = "=HYPERLINK(1)";
  csv += SmallRow("-2", "USD", "2026-03-02T00:00:00Z", "2026-03-02T01:00:00Z", evil, "'); DROP TABLE charge; --");
  csv += SmallRow("2", "USD", "2026-03-02T01:00:00Z", "2026-03-02T02:00:00Z", "i\x1b[31m", "a");
  const std::string file = folder_.Write("evil.csv", csv);
  const ProgramRun table = RunIdleburn("bill reconcile " + file + " --format csv");
  EXPECT_NE(table.out.find("negative_usage"), std::string::npos);
  EXPECT_NE(table.out.find("'=HYPERLINK(1)"), std::string::npos) << table.out;
  EXPECT_EQ(Reconciled(file)["owners"][1]["name"], "'); DROP TABLE charge; --");
  EXPECT_EQ(RunIdleburn("bill reconcile --full " + file).out.find('\x1b'), std::string::npos);
}

// The same rows in every container give the same answer.
TEST_F(BillFormatsTest, ContainersDoNotMatter) {
  const std::string sample = test::SharedPath("data/telemetry/billing/focus_1_2_synthetic.csv").string();
  if (!std::filesystem::exists(sample)) GTEST_SKIP() << sample << " is missing";
  const auto kinds = KindsOf(Reconciled(sample));
  const std::string gz = (folder_.path() / "sample.csv.gz").string();
  MustRunTool("gzip -c " + sample + " > " + gz);
  EXPECT_EQ(KindsOf(Reconciled(gz)), kinds);
  const auto database = OpenDuckDb(1);
  ASSERT_TRUE(database.has_value()) << database.error().message;
  const std::string parquet = (folder_.path() / "sample.parquet").string();
  const Result<void> written =
      (*database)->Execute("COPY (SELECT * FROM read_csv('" + sample + "', all_varchar = true)) TO '" + parquet + "'");
  ASSERT_TRUE(written.has_value()) << written.error().message;
  EXPECT_EQ(KindsOf(Reconciled(parquet)), kinds);
  // With types, as providers write Parquet. A number cannot have a plus there, so that mismatch is gone.
  const std::string typed = (folder_.path() / "typed.parquet").string();
  const Result<void> with_types = (*database)->Execute(
      "COPY (SELECT * REPLACE (BilledCost::DECIMAL(18, 9) AS BilledCost, ListCost::DECIMAL(18, 9) AS ListCost, "
      "ChargePeriodStart::TIMESTAMP AS ChargePeriodStart, from_json(Tags, '\"MAP(VARCHAR, VARCHAR)\"') AS Tags) FROM "
      "read_csv('" +
      sample + "', all_varchar = true)) TO '" + typed + "'");
  ASSERT_TRUE(with_types.has_value()) << with_types.error().message;
  auto expected = kinds;
  expected.erase("bad_number");
  EXPECT_EQ(KindsOf(Reconciled(typed)), expected);
}

TEST_F(BillFormatsTest, RefusesWhatIsNoBill) {
  EXPECT_EQ(RunIdleburn("bill reconcile " + folder_.Write("empty.csv", "")).code, 1);
  EXPECT_EQ(RunIdleburn("bill reconcile /nowhere.csv").code, 1);
  EXPECT_EQ(RunIdleburn("bill").code, 2);
  EXPECT_EQ(RunIdleburn("bill pay x.csv").code, 2);
  EXPECT_EQ(RunIdleburn("bill import").code, 2);
  const ProgramRun rows = RunIdleburn("bill reconcile " + folder_.Write("head.csv", kSmallHeader));
  EXPECT_EQ(rows.code, 1);
  EXPECT_NE(rows.err.find("no imported rows"), std::string::npos) << rows.err;
}

}  // namespace
}  // namespace idleburn::testing
