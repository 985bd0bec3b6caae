#include "tco/own_or_rent.h"

#include <gtest/gtest.h>

#include "tco/scenario_file.h"

namespace idleburn {
namespace {

// Reference: tco.md section 6, the example.
OwnOffer Server(const std::string& more = "") {
  const Result<TcoFile> file = ReadTcoFile(
      "x.toml",
      "[own]\ncapex = 300000\nresidual = \"10%\"\nlife_years = 4\ngpus = 8\nkilowatts = \"10.2\"\npue = \"1.3\"\n"
      "tariff = \"0.12\"\nsupport_a_year = \"5%\"\nspace_a_year = 18000\nutilisation = [\"100%\", \"70%\", \"40%\"]\n"
      "cloud = [\"2.29\", \"2.95\", \"6.88\"]\npayback_at = \"70%\"\n" +
          more,
      "2026-11-21");
  EXPECT_TRUE(file.has_value()) << (file ? "" : file.error().message);
  return *file->own;
}

std::string Text(const Fraction& f, int digits) { return FormatMoney(*f.AsMoney(), digits); }

TEST(OwnOrRent, AYearIsTheSumOfItsLines) {
  const OwnYear year = YearOf(Server());
  EXPECT_EQ(Text(year.depreciation, 3), "67500.000");
  EXPECT_EQ(Text(year.energy, 3), "13938.912");
  EXPECT_EQ(Text(year.support, 3), "15000.000");
  EXPECT_EQ(Text(year.space, 3), "18000.000");
  EXPECT_EQ(Text(year.total, 3), "114438.912");
  EXPECT_EQ(Text(year.operation_a_month, 3), "3911.576");
}

TEST(OwnOrRent, AnHourCostsByUse) {
  const OwnOffer server = Server();
  const char* const costs[] = {"1.632975", "2.332822", "4.082438"};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(Text(PerDeliveredHour(server, server.utilisations[i]), 6), costs[i]);
  }
}

TEST(OwnOrRent, BreakEvenAndPayback) {
  const OwnOffer calendar = Server();
  const OwnOffer projection = Server("payback_month_hours = 720\n");
  const char* const uses[] = {"71.309", "55.355", "23.735"};  // 114,438.912 / (8 x 8,760 x 6.88)
  const char* const months[] = {"55.046", "36.819", "12.390"};
  const char* const shorter[] = {"55.811", "37.330", "12.562"};
  EXPECT_EQ(Text(YearOf(projection).operation_a_month, 3), "3857.993");
  for (std::size_t i = 0; i < 3; ++i) {
    const Fraction& cloud = calendar.cloud[i];
    EXPECT_EQ(Text(BreakEvenUse(calendar, cloud) * Fraction::Of(100, 1), 3), uses[i]);
    EXPECT_EQ(Text(*PaybackMonths(calendar, cloud), 3), months[i]);
    EXPECT_EQ(Text(*PaybackMonths(projection, cloud), 3), shorter[i]);
  }
}

TEST(OwnOrRent, WhatNeverPaysBackIsSaidSo) {
  EXPECT_FALSE(PaybackMonths(Server(), Fraction::Of(1, 2)));
  EXPECT_GT(Compare(BreakEvenUse(Server(), Fraction::Of(1, 1)), Fraction::Of(1, 1)), 0);
}

}  // namespace
}  // namespace idleburn
