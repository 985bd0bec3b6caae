#include "tco/own_or_rent.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tco/scenario_file.h"

namespace idleburn {

// The example of the documentation, worked out by hand, and offers around it that never pay back.

namespace {

// The server of docs/tco.md, "Buying or renting".
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
  EXPECT_EQ(Text(year.total / Fraction::Of(8, 1), 3), "14304.864");  // a GPU
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

// Naive twin: month after month, with the price of its year.
std::optional<double> PaidBackAfter(double capex, double operation, double rented, double falls) {
  double left = capex;
  for (int month = 0; month < 1200; ++month) {
    const double saved = rented * std::pow(1 - falls, month / 12) - operation;
    if (saved <= 0) return std::nullopt;
    if (saved >= left) return month + left / saved;
    left -= saved;
  }
  return std::nullopt;
}

TEST(OwnOrRent, AFallingPriceIsTakenYearByYear) {
  const OwnOffer server = Server("cloud_falls_a_year = \"20%\"\n");
  for (const Fraction& cloud : server.cloud) {
    // (1 + .8 + .64 + .512) / 4 over the four years that it lives
    EXPECT_NEAR(MeanPrice(server, cloud).AsDouble(), cloud.AsDouble() * 2.952 / 4, 1e-12);
    const double rented = 8 * 730 * 0.7 * cloud.AsDouble();
    const std::optional<double> twin = PaidBackAfter(300'000, 46'938.912 / 12, rented, 0.2);
    const std::optional<Fraction> months = PaybackMonths(server, cloud);
    ASSERT_EQ(months.has_value(), twin.has_value()) << cloud.AsDouble();
    if (months) {
      EXPECT_NEAR(months->AsDouble(), *twin, 1e-6);
    }
  }
  const OwnOffer steady = Server();
  EXPECT_EQ(Compare(MeanPrice(steady, steady.cloud[0]), steady.cloud[0]), 0);
  EXPECT_FALSE(PaybackMonths(server, server.cloud[0]));  // 2.29 falls below what the server takes to run
}

TEST(OwnOrRent, ADemandChargeIsPaidForTheMostPowerEveryMonth) {
  const OwnYear year = YearOf(Server("demand_charge = 15\n"));
  EXPECT_EQ(Text(year.demand, 2), "2386.80");  // 10.2 x 1.3 x 15 x 12
  EXPECT_EQ(Text(year.total, 3), "116825.712");
}

TEST(OwnOrRent, WhatNeverPaysBackIsSaidSo) {
  EXPECT_FALSE(PaybackMonths(Server(), Fraction::Of(1, 2)));
  EXPECT_GT(Compare(BreakEvenUse(Server(), Fraction::Of(1, 1)), Fraction::Of(1, 1)), 0);
}

}  // namespace
}  // namespace idleburn
