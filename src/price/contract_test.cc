#include "price/contract.h"

#include <gtest/gtest.h>

#include "text/line_reader.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

Result<std::vector<Contract>> Read(const std::string& text) {
  StringSource in(text, "contracts.csv");
  return ReadContracts(in);
}

TEST(ContractTest, ReadsPricesAndCommitments) {
  const std::vector<Contract> contracts =
      Read(
          "# agreed in spring\n"
          "name,applies_to,per_gpu_hour,committed_per_hour,gpus,currency,from,until\n"
          "acme,A100;node03,1.10,,,EUR,2026-01-01,2027-01-01\n"
          "big,all,,16.00,8,,,2026-06-01T12:00:00Z\n")
          .value();
  ASSERT_EQ(contracts.size(), 2U);
  EXPECT_EQ(contracts[0].applies_to.size(), 2U);
  EXPECT_EQ(contracts[0].per_gpu_hour, Money::Cents(110));
  EXPECT_EQ(contracts[0].currency, "EUR");
  EXPECT_FALSE(contracts[0].gpus);
  EXPECT_EQ(contracts[0].until, ParseRfc3339("2027-01-01T00:00:00Z").value());
  EXPECT_EQ(Describe(contracts[0]), "contract acme: 1.10 per GPU-hour, from 2026-01-01 to 2027-01-01");
  EXPECT_EQ(contracts[1].per_gpu_hour, Money::Cents(200));
  EXPECT_EQ(contracts[1].gpus, 8);
  EXPECT_FALSE(contracts[1].from);
  EXPECT_EQ(Describe(contracts[1]),
            "contract big: 2.00 per GPU-hour, 16.00 an hour for 8 GPUs, to 2026-06-01T12:00:00Z");
}

TEST(ContractTest, ACommitmentIsDividedOnceHalfToEven) {
  const std::vector<Contract> contracts =
      Read("name,applies_to,committed_per_hour,gpus\na,all,10,3\nb,all,0.000000001,2\n").value();
  EXPECT_EQ(contracts[0].per_gpu_hour, Money::Nano(3'333'333'333));
  EXPECT_EQ(contracts[1].per_gpu_hour, Money());  // half a billionth, to the even one
}

TEST(ContractTest, SaysWhereATableIsWrong) {
  const std::string header = "name,applies_to,per_gpu_hour,committed_per_hour,gpus,currency,from,until\n";
  const struct {
    const char* row;
    const char* what;
  } rows[] = {{",all,1,,,,,", "name"},
              {"a,,1,,,,,", "applies_to"},
              {"a,A100;;B,1,,,,,", "applies_to"},
              {"a,all,,,,,,", "per_gpu_hour"},
              {"a,all,1,2,8,,,", "per_gpu_hour"},
              {"a,all,,2,,,,", "gpus"},
              {"a,all,-1,,,,,", "negative"},
              {"a,all,x,,,,,", "per_gpu_hour"},
              {"a,all,1,,0,,,", "gpus"},
              {"a,all,1,,1.5,,,", "gpus"},
              {"a,all,1,,,usd,,", "currency"},
              {"a,all,1,,,XYZ,,", "currency"},
              {"a,all,1,,,,soon,", "from"},
              {"a,all,1,,,,2026-01-02,2026-01-02", "until"}};
  for (const auto& row : rows) {
    const auto read = Read(header + row.row + "\n");
    ASSERT_FALSE(read) << row.row;
    EXPECT_EQ(read.error().message.find("contracts.csv:2: "), 0U) << read.error().message;
    EXPECT_NE(read.error().message.find(row.what), std::string::npos) << read.error().message;
  }
  EXPECT_FALSE(Read(""));
  EXPECT_FALSE(Read("name,price\na,1\n"));
  EXPECT_FALSE(Read("name,applies_to,per_gpu_hour\na,all,1\na,all,2\n"));
}

}  // namespace
}  // namespace idleburn
