#include "report/audit_view.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>

#include "report/write_audit.h"
#include "support/audit_fixture.h"
#include "support/property.h"

namespace idleburn {
namespace {

Money M(std::string_view text) { return Money::Parse(text).value(); }

bool Contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// Every writer for people.
std::vector<std::string> Pages(const AuditReport& report) {
  return {AuditText(report, 300, false), AuditMarkdown(report), AuditHtml(report)};
}

// "1,234.5 h", "$3.07": the digits as a number of last decimals.
std::int64_t Digits(const std::string& cell) {
  std::string digits;
  std::copy_if(cell.begin(), cell.end(), std::back_inserter(digits), [](char c) { return c >= '0' && c <= '9'; });
  return digits.empty() ? 0 : std::stoll(digits);
}

// One GPU whose seconds are `percent`.
std::unique_ptr<AuditFixture> OneGpu(int seconds, std::function<std::optional<int>(int)> percent) {
  auto audit = std::make_unique<AuditFixture>();
  AuditFixture::Gpu gpu;
  gpu.percent = std::move(percent);
  audit->Add(gpu, seconds);
  audit->Settle(M("4"));
  return audit;
}

// Times in all sizes, often of nothing.
std::int64_t AnyTime() {
  const auto most = *rc::gen::element<std::int64_t>(1, 1'000'000'000, kNanosPerHour, 400 * kNanosPerHour);
  return *rc::gen::inRange<std::int64_t>(0, most);
}

// The whole of an audit of any times, at a price.
void FillAny(UsageCost* u, Money rate) {
  const auto price = [&](std::int64_t ns) { return Price(rate, ns).value(); };
  const auto add = [](Money a, Money b) { return Money::Nano(a.nano() + b.nano()); };
  u->idle_held_ns = AnyTime();
  u->idle_empty_ns = AnyTime();
  u->idle_unknown_ns = AnyTime();
  u->idle_held_cost = price(u->idle_held_ns);
  u->idle_empty_cost = price(u->idle_empty_ns);
  u->idle_unknown_cost = price(u->idle_unknown_ns);
  u->phase_ns = {u->idle_held_ns + u->idle_empty_ns + u->idle_unknown_ns, AnyTime(), AnyTime(), AnyTime()};
  u->spin_wait_ns = u->phase_ns[3] / 3;
  u->spin_wait_cost = price(u->spin_wait_ns);
  u->phase_cost[0] = add(add(*u->idle_held_cost, *u->idle_empty_cost), *u->idle_unknown_cost);
  for (std::size_t p = 1; p < kPhaseCount; ++p) u->phase_cost[p] = price(u->phase_ns[p]);
  u->unobserved_ns = AnyTime();
  u->unallocated_ns = AnyTime();
  u->unobserved_cost = price(u->unobserved_ns);
  u->unallocated_cost = price(u->unallocated_ns);
  u->total = add(*u->unobserved_cost, *u->unallocated_cost);
  for (std::size_t p = 0; p < kPhaseCount; ++p) {
    u->observed_ns += u->phase_ns[p];
    u->total = add(*u->total, *u->phase_cost[p]);
  }
  u->window_ns = u->observed_ns + u->unobserved_ns + u->unallocated_ns;
  u->waste = u->phase_cost[0];
}

TEST(PhaseTableTest, RowsAddUpToTheTotal) {
  test::ExpectProperty([] {
    AuditFixture audit;
    UsageCost& u = audit.report.cost.whole;
    FillAny(&u, M("3.37"));
    RC_PRE(u.window_ns > 0);
    const ReportTable table = ViewOf(audit.report, {}).phases;
    std::int64_t hours = 0;
    std::int64_t cents = 0;
    std::size_t idle = 0;
    for (std::size_t i = 0; i + 1 < table.rows.size(); ++i) {
      idle += table.rows[i][0].starts_with("idle, ") ? 1U : 0U;
      hours += Digits(table.rows[i][1]);
      cents += Digits(table.rows[i][3]);
    }
    std::size_t held = 0;
    for (const std::int64_t ns : {u.idle_held_ns, u.idle_empty_ns, u.idle_unknown_ns}) held += ns > 0 ? 1U : 0U;
    RC_ASSERT(idle == held);
    RC_ASSERT(table.rows.back()[0] == "total");
    RC_ASSERT(hours == Digits(table.rows.back()[1]));
    RC_ASSERT(cents == Digits(table.rows.back()[3]));
  });
}

TEST(AuditBarTest, PiecesSumToTheBill) {
  test::ExpectProperty([] {
    AuditFixture audit;
    FillAny(&audit.report.cost.whole, M("3.37"));
    RC_PRE(audit.report.cost.whole.window_ns > 0);
    const std::string html = AuditHtml(audit.report);
    const std::size_t from = html.find("Slices of the bill</title>");
    RC_ASSERT(from != std::string::npos);
    const std::string bar = html.substr(from, html.find("</ul>", from) - from);
    RC_ASSERT(Contains(bar, "unallocated") == (audit.report.cost.whole.unallocated_ns > 0));
    double width = 0;
    const std::regex piece("width=\"([0-9.]+)\"");
    for (std::sregex_iterator it(bar.begin(), bar.end(), piece), end; it != end; ++it) width += std::stod((*it)[1]);
    RC_ASSERT(std::abs(width - 1000) < 1);
    std::int64_t cents = 0;
    const std::regex amount("\\$([0-9,]+)\\.([0-9]{2}) \\(");
    for (std::sregex_iterator it(bar.begin(), bar.end(), amount), end; it != end; ++it) {
      cents += Digits((*it)[1]) * 100 + std::stoll((*it)[2]);
    }
    RC_ASSERT(std::llabs(10'000'000 * cents - audit.report.cost.whole.total->nano()) <= 5'000'000);
  });
}

TEST(EnergyTextTest, APartIsCalledAPartAndHasNoError) {
  const auto half = OneGpu(7200, [](int s) { return s < 3600 ? std::optional(80) : std::nullopt; });
  half->report.cost.energy_cost = M("0.07");
  for (const std::string& page : Pages(half->report)) {
    EXPECT_TRUE(Contains(page, "over 1 of 2 GPU-hours")) << page.substr(0, 4000);
    EXPECT_FALSE(Contains(page, "± 5 %"));
  }
  EXPECT_EQ(nlohmann::json::parse(AuditJson(half->report))["energy_coverage"], 0.5);
  const auto all = OneGpu(7200, [](int s) { return s < 7000 ? std::optional(80) : std::nullopt; });  // 97 %
  for (const std::string& page : Pages(all->report)) {
    EXPECT_TRUE(Contains(page, "± 5 %"));
    EXPECT_FALSE(Contains(page, "of 2 GPU-hours"));
  }
}

TEST(EnergyTextTest, ItsCostStandsInItsOwnCurrencyAndWithoutAPriceOfTheGpus) {
  for (const bool priced : {true, false}) {
    const auto audit = OneGpu(7200, [](int) { return std::optional(80); });
    if (!priced) {
      audit->report.cost.whole.total.reset();
      audit->report.cost.rate = Rate{};
      audit->report.cost.rate.reason = "no_price";
    }
    audit->report.cost.energy_cost = M("0.07");
    audit->report.cost.energy_currency = "EUR";
    const std::string text = AuditText(audit->report, 100, false);
    EXPECT_TRUE(Contains(text, "Energy alone: 0.07 EUR")) << text;
    EXPECT_EQ(nlohmann::json::parse(AuditJson(audit->report))["cost"]["energy_currency"], "EUR");
  }
}

// Below 10 % is idle, and what little was done is no waste: the slice is larger than the waste.
TEST(VerdictTest, WhatLittleWasDoneInIdleTimeIsNoWaste) {
  const auto audit = OneGpu(3600, [](int) { return 8; });
  const std::string verdict = ViewOf(audit->report, {}).verdict;
  EXPECT_EQ(verdict,
            "You paid $4.00 for 1 GPU-hour; $3.68 (92.0 %) was waste. All of it was: idle, held by a process $4.00 "
            "(100.0 %).");
}

TEST(UnpricedTest, HoursWithoutAPriceAreNeverBesideTheAmountsOfTheOthers) {
  AuditFixture audit;
  AuditFixture::Gpu gpu;
  gpu.percent = [](int s) { return s % 2 == 0 ? 100 : 0; };
  gpu.uuid = "GPU-a";
  audit.Add(gpu, 3600);
  audit.Settle(M("4"));
  CostReport& cost = audit.report.cost;
  // A second GPU of which nobody knows the price.
  cost.whole.window_ns += kNanosPerHour;
  cost.whole.observed_ns += kNanosPerHour;
  cost.whole.phase_ns[0] += kNanosPerHour;
  cost.whole.idle_empty_ns += kNanosPerHour;
  cost.whole.unpriced.window_ns = kNanosPerHour;
  cost.waste_share = 0.75;
  cost.rates = {{cost.rate, 1, 0, kNanosPerHour, cost.whole.total}, {Rate(), 1, 0, kNanosPerHour, std::nullopt}};
  cost.rate.per_gpu_hour.reset();
  cost.owners = {{"ann", 2 * kNanosPerHour, cost.whole.total, false, kNanosPerHour}};
  Recommendation stop;
  stop.title = "Stop it";
  stop.saving = SavingRange{0, 0.4, 0.5};
  audit.report.advice.recommendations = {stop};
  const std::string html = AuditHtml(audit.report);
  EXPECT_TRUE(Contains(html,
                       "<dd>$4.00</dd><dd class=\"more\">1 GPU-hour (1 GPU at $4.00), excluding 1 "
                       "unpriced GPU-hours</dd>"));
  EXPECT_TRUE(Contains(html, "<dd>$2.00 (50.0 %)</dd><dd class=\"more\">of the bill</dd>")) << "of the one priced";
  const AuditView view = ViewOf(audit.report, {});
  EXPECT_EQ(view.owners.columns[2].header, "unpriced h");
  EXPECT_EQ(view.owners.rows[0], (TableRow{"ann", "2.00", "1.00", "$4.00", "as named by the source"}));
  EXPECT_TRUE(Contains(view.phases.notes.front(), "leave out 1 unpriced GPU-hours"));
  Rate& open = cost.rates[1].rate;
  open.reason = "ambiguous_price";
  open.candidates.resize(2);
  EXPECT_TRUE(Contains(AuditHtml(audit.report), "2 offers in the catalogue; settle it"));
}

// One GPU without a price that lost time beside two that have one.
TEST(UnpricedTest, ALossWithoutAPriceIsSaidInHours) {
  const auto audit = OneGpu(3600, [](int) { return 100; });
  CostReport& cost = audit->report.cost;
  cost.whole.window_ns += kNanosPerHour;
  cost.whole.observed_ns += kNanosPerHour;
  cost.whole.phase_ns[0] += kNanosPerHour;
  cost.whole.idle_held_ns += kNanosPerHour;
  cost.whole.unpriced.window_ns = kNanosPerHour;
  cost.rates = {{cost.rate, 1, 0, kNanosPerHour, cost.whole.total}, {Rate(), 1, 0, kNanosPerHour, std::nullopt}};
  const AuditView view = ViewOf(audit->report, {});
  EXPECT_TRUE(Contains(view.verdict, "; idle, held by a process 1.00 GPU-hours without a price.")) << view.verdict;
  EXPECT_EQ(view.phases.rows[0], (TableRow{"idle, held by a process", "1.00", "?", "?"}));
  EXPECT_TRUE(Contains(AuditHtml(audit->report), "<dt>Idle, held</dt><dd>1 GPU-hour</dd>"));
}

// Twenty hours idle at $0.30 and one unobserved at $98.
TEST(VerdictTest, TheDearestSliceStandsFirstWhereHoursHaveSeveralPrices) {
  AuditFixture audit;
  CostReport& cost = audit.report.cost;
  UsageCost& u = cost.whole;
  u.window_ns = 21 * kNanosPerHour;
  u.observed_ns = u.phase_ns[0] = u.idle_held_ns = 20 * kNanosPerHour;
  u.unobserved_ns = kNanosPerHour;
  u.phase_cost[0] = u.idle_held_cost = u.waste = M("6");
  u.unobserved_cost = M("98");
  u.total = M("104");
  cost.rates = {{Rate(), 20, 0, u.observed_ns, M("6")}, {Rate(), 1, 0, u.unobserved_ns, M("98")}};
  const std::string verdict = ViewOf(audit.report, {}).verdict;
  EXPECT_TRUE(Contains(verdict, "first: unobserved $98.00 (94.2 %); idle, held by a process $6.00 (5.8 %)."))
      << verdict;
  cost.rates.resize(1);
  const std::string alike = ViewOf(audit.report, {}).verdict;
  EXPECT_TRUE(Contains(alike, "first: idle, held by a process")) << alike;
}

// A kernel that only waits for others keeps a GPU as busy as one that works: where neither power nor SM activity tells
// them apart, nobody knows that all of it was work.
TEST(VerdictTest, WasteIsALeastWhereWaitingWouldNotShow) {
  const auto audit = OneGpu(3600, [](int) { return 95; });
  EXPECT_TRUE(Contains(ViewOf(audit->report, {}).verdict, "; at least $0.20 (5.0 %) was waste."));
  DeviceTotals& totals = audit->report.run.devices[0].totals;
  totals.bound_with_activity_ns = totals.phase_ns[3];
  EXPECT_TRUE(Contains(ViewOf(audit->report, {}).verdict, "; $0.20 (5.0 %) was waste."));
  audit->report.cost.whole.total.reset();
  EXPECT_TRUE(Contains(ViewOf(audit->report, {}).verdict, "Of 1 GPU-hour, 0.05 GPU-hours (5.0 %) was waste."));
  totals.bound_with_activity_ns = 0;
  EXPECT_TRUE(Contains(ViewOf(audit->report, {}).verdict, "at least 0.05 GPU-hours (5.0 %) was waste."));
}

// 427.5 s are 0.11875 h: with as much in two other phases the column has one of them at 0.1187.
TEST(VerdictTest, AnHourIsTheSameFigureEverywhere) {
  AuditFixture audit;
  const auto seconds = [](int s) { return s < 1282 ? std::optional(s < 428 ? 50 : s < 855 ? 80 : 95) : std::nullopt; };
  AuditFixture::Gpu gpu;
  gpu.percent = seconds;
  audit.Add(gpu, 1710);
  constexpr std::int64_t kPart = 427'500'000'000;
  DeviceTotals& totals = audit.report.run.devices[0].totals;
  totals.phase_ns = {0, kPart, kPart, kPart};
  totals.unobserved_ns = {};
  totals.unobserved_ns[static_cast<std::size_t>(Unobserved::kGap)] = kPart;
  audit.Settle(std::nullopt);
  const AuditView view = ViewOf(audit.report, {});
  const auto row = std::find_if(view.phases.rows.begin(), view.phases.rows.end(),
                                [](const TableRow& r) { return r[0] == "unobserved"; });
  ASSERT_NE(row, view.phases.rows.end());
  const std::string hours = (*row)[1];
  EXPECT_EQ(hours, "0.118");
  EXPECT_TRUE(Contains(view.phases.notes[0], "gap " + hours + " h.")) << view.phases.notes[0];
  EXPECT_TRUE(Contains(view.phases.notes[1], "worked or waited in 0.119 GPU-hours of compute_bound"))
      << view.phases.notes[1];
  EXPECT_TRUE(Contains(view.verdict, "unobserved " + hours + " GPU-hours (25.0 %)")) << view.verdict;
  EXPECT_EQ(view.gpus.rows[0][6], hours);
  EXPECT_TRUE(Contains(AuditHtml(audit.report), "<dt>Unobserved</dt><dd>" + hours + " GPU-hours</dd>"));
}

// How old prices are is a row of data quality: nothing else repeats it.
TEST(PriceHintTest, TheDateOfTheCatalogueIsSaidOnce) {
  const auto audit = OneGpu(60, [](int) { return 50; });
  CostReport& cost = audit->report.cost;
  cost.whole.total.reset();
  cost.rate = Rate{};
  EXPECT_TRUE(Contains(AuditMarkdown(audit->report), "no price is known for this GPU: give"));
  cost.gpus = 2;
  EXPECT_TRUE(Contains(AuditMarkdown(audit->report), "no price is known for these GPUs: give"));
  cost.rate.low = M("2");
  cost.rate.high = M("4");
  cost.rate.candidates = {{"acme:a@eu-1", M("2"), 1'000'000, Instant::FromNanos(1'783'000'800 * kNanosPerSecond)}};
  EXPECT_TRUE(Contains(AuditMarkdown(audit->report), "(oldest price as of 2026-07-02)"));
  cost.rate.stale = true;
  for (const std::string& page : {AuditMarkdown(audit->report), AuditText(audit->report, 200, false)}) {
    const std::size_t at = page.find("2026-07-02)");
    EXPECT_TRUE(at != std::string::npos && page.find("as of", at) == std::string::npos) << page;
    EXPECT_FALSE(Contains(page, "90 days")) << page;
  }
}

TEST(PriceTest, ThousandsOfAPriceArePartedToo) {
  AuditFixture audit;
  AuditFixture::Gpu gpu;
  gpu.percent = [](int) { return 50; };
  audit.Add(gpu, 3600);
  audit.Settle(M("9000.125"));
  EXPECT_TRUE(Contains(AuditMarkdown(audit.report), "$9,000.12 per GPU-hour"));
  EXPECT_TRUE(Contains(AuditMarkdown(audit.report), "(observed time x utilization): $18,000.25."));
}

TEST(BasisTest, AZoneIsNamedWhereItWasNeeded) {
  const auto audit = OneGpu(60, [](int) { return 50; });
  EXPECT_FALSE(Contains(AuditText(audit->report, 300, false), "times without a zone"));
  audit->quality.Count(QualityId::kTimezoneAssumed);
  EXPECT_TRUE(Contains(AuditText(audit->report, 300, false), "times without a zone were read as UTC."));
  audit->quality = {};
  audit->report.timezone = "Europe/Berlin";
  EXPECT_TRUE(Contains(AuditText(audit->report, 300, false), "times without a zone were read as Europe/Berlin."));
}

// $0.335 held and $0.335 empty are 0.34 and 0.33 wherever they stand.
TEST(VerdictTest, ALossIsTheSameAmountEverywhere) {
  AuditFixture audit;
  UsageCost& u = audit.report.cost.whole;
  u.window_ns = u.observed_ns = u.phase_ns[0] = 2 * kNanosPerHour;
  u.idle_held_ns = u.idle_empty_ns = kNanosPerHour;
  u.idle_held_cost = u.idle_empty_cost = M("0.335");
  u.idle_unknown_cost = u.unobserved_cost = u.unallocated_cost = u.spin_wait_cost = Money();
  u.phase_cost = {M("0.67"), Money(), Money(), Money()};
  u.total = u.waste = M("0.67");
  const std::string verdict = ViewOf(audit.report, {}).verdict;
  EXPECT_TRUE(Contains(verdict, "held by a process $0.34 (50.0 %)")) << verdict;
  EXPECT_TRUE(Contains(verdict, "no process $0.33 (50.0 %)")) << verdict;
  EXPECT_TRUE(Contains(AuditHtml(audit.report), "<dt>Idle, held</dt><dd>$0.34</dd>"));
  const ReportTable phases = ViewOf(audit.report, {}).phases;
  EXPECT_EQ(phases.rows[0].back(), "$0.34");
  EXPECT_EQ(phases.rows[1].back(), "$0.33");
  const nlohmann::json cost = nlohmann::json::parse(AuditJson(audit.report))["cost"];
  EXPECT_EQ(cost["idle_held"], "0.34");
  EXPECT_EQ(cost["idle_empty"], "0.33");
  EXPECT_EQ(cost["idle_held_exact"], "0.335");
}

TEST(VerdictTest, IdleTimeThatNobodyReadTheHolderOfIsSaidToBeThat) {
  const auto audit = OneGpu(3600, [](int) { return 0; });
  UsageCost& u = audit->report.cost.whole;
  std::swap(u.idle_held_ns, u.idle_unknown_ns);
  std::swap(u.idle_held_cost, u.idle_unknown_cost);
  for (DeviceResult& d : audit->report.run.devices) {
    for (TimelineBucket& b : d.totals.timeline.buckets) b.held_ns = 0;
  }
  EXPECT_TRUE(Contains(ViewOf(audit->report, {}).verdict, "All of it was: idle, holder unknown $4.00 (100.0 %)."));
  EXPECT_TRUE(Contains(AuditText(audit->report, 100, false), "idle; no data on which process holds the GPU"));
}

TEST(NothingObservedTest, WasteIsUnknownThen) {
  const auto audit = OneGpu(3600, [](int) { return std::optional<int>(); });
  audit->report.run.devices[0].totals.ticks = {1, 0, 0, 0};
  for (const std::string& page : Pages(audit->report)) {
    EXPECT_TRUE(Contains(page, "Waste: unknown (nothing observed).")) << page.substr(0, 2000);
    EXPECT_FALSE(Contains(page, "Bursts:"));
  }
  const nlohmann::json cost = nlohmann::json::parse(AuditJson(audit->report))["cost"];
  EXPECT_TRUE(cost["waste"].is_null());
  EXPECT_EQ(cost["waste_reason"], "nothing_observed");
  EXPECT_EQ(ViewOf(audit->report, {}).gpus.rows[0].back(), "n/a");
}

TEST(NothingObservedTest, WithoutTimeThereIsNoTableOfZeros) {
  const auto audit = OneGpu(0, [](int) { return 50; });
  for (const std::string& page : Pages(audit->report)) {
    EXPECT_TRUE(Contains(page, "so no time is covered"));
    EXPECT_FALSE(Contains(page, "$0.00"));
  }
}

TEST(NothingObservedTest, ReadingsInAnotherUnitAreToldFromNone) {
  const auto audit = OneGpu(60, [](int) { return std::optional<int>(); });
  audit->quality.Count(QualityId::kOutOfRange, {}, 3);
  const AuditView view = ViewOf(audit->report, {});
  EXPECT_EQ(view.why.back(), "3 readings lie outside what the unit allows: is the unit right?");
  EXPECT_EQ(view.next.front(), "check the unit of the readings; for a table set it with --columns util=NAME:ratio");
}

TEST(UndatedTest, NoDateIsMadeUp) {
  const auto audit = OneGpu(2, [](int) { return 50; });
  audit->report.run.start = Instant::FromNanos(0);
  audit->report.run.end = Instant::FromNanos(2 * kNanosPerSecond);
  for (const std::string& page : Pages(audit->report)) {
    EXPECT_TRUE(Contains(page, "no dates: 2 s"));
    EXPECT_FALSE(Contains(page, "1970"));
  }
  const nlohmann::json window = nlohmann::json::parse(AuditJson(audit->report))["window"];
  for (const std::string key : {"start", "end"}) {
    EXPECT_TRUE(window[key].is_null());
    EXPECT_EQ(window[key + "_reason"], "no_dates");
  }
  EXPECT_TRUE(Contains(AuditCsv(audit->report), "\n,,node1,"));
  CostReport& cost = audit->report.cost;
  cost.rate = Rate();
  cost.rate.reason = "partly_under_contract";
  cost.whole.total.reset();
  EXPECT_EQ(ViewOf(audit->report, {}).money.front(), "Price: not known: this run has no dates.");
}

TEST(CapturesTest, CapturesThatAreNotJoinedAreNoGpus) {
  AuditFixture audit;
  audit.report.traced_only = true;
  audit.report.trace.emplace();
  for (std::size_t i = 0; i < 2; ++i) {
    DeviceDiagnosis d;
    d.profile = i;
    d.budgets.emplace_back();
    audit.report.trace->devices.push_back(d);
    AuditFixture::Gpu gpu;
    gpu.host = i == 0 ? "a.json" : "b.json";
    gpu.name = "Tesla T4";
    gpu.percent = [](int) { return 100; };
    audit.Add(gpu, 2);
  }
  audit.Settle(std::nullopt);
  audit.report.trace->apart = "they were recorded more than ten minutes apart";
  const AuditView view = ViewOf(audit.report, {});
  EXPECT_EQ(view.title, "2 captures (Tesla T4), not joined: they were recorded more than ten minutes apart");
  EXPECT_TRUE(view.verdict.starts_with("The GPUs of 2 captures computed ")) << view.verdict;
  audit.report.trace->apart.clear();
  EXPECT_TRUE(ViewOf(audit.report, {}).title.starts_with("2 GPUs (Tesla T4), 2026-07-02T14:00:00Z to "));
}

TEST(OwnerTableTest, SlicesOfNobodyAreNamedByNoSource) {
  const auto audit = OneGpu(3600, [](int) { return 50; });
  audit->report.cost.owners = {{"ann", kNanosPerHour / 2, M("2"), false, 0},
                               {"unallocated", kNanosPerHour / 2, M("2"), false, 0}};
  const ReportTable owners = ViewOf(audit->report, {}).owners;
  EXPECT_EQ(owners.rows[0].back(), "as named by the source");
  EXPECT_EQ(owners.rows[1].back(), "MIG slices without an instance");
}

TEST(FindingTextTest, AStatusThatIsItsCauseIsSaidOnce) {
  const auto audit = OneGpu(3600, [](int) { return 50; });
  Finding unknown;
  unknown.cause = "unknown";
  Finding spin;
  spin.cause = "spin_wait";
  spin.status = Status::kLikely;
  audit->report.advice.findings = {unknown, spin};
  const ReportTable findings = ViewOf(audit->report, {}).findings;
  EXPECT_EQ(findings.rows[0][1], "unknown");
  EXPECT_EQ(findings.rows[1][1], "likely (spin_wait)");
}

TEST(TogetherTest, WithoutAFixOfTimeThereIsNoRule) {
  const auto audit = OneGpu(3600, [](int s) { return s < 990 ? 0 : 100; });
  Recommendation spot;
  spot.id = "spot";
  spot.axis = Axis::kRate;
  audit->report.advice.recommendations = {spot};
  audit->report.advice.savings.cap = 0.275;
  const std::string note = ViewOf(audit->report, {}).recommendations.notes.front();
  EXPECT_TRUE(Contains(note, ", waste is $1.10 (27.5 %)")) << note;
  EXPECT_FALSE(Contains(note, "rule"));
  // Nobody knows what spot would save here: that is not nothing.
  EXPECT_TRUE(Contains(note, "All together: not quantified, waste is")) << note;
  EXPECT_FALSE(Contains(note, "0 %")) << note;
  const nlohmann::json savings = nlohmann::json::parse(AuditJson(audit->report))["savings"];
  EXPECT_TRUE(savings["rule"].is_null());
  EXPECT_EQ(savings["rule_reason"], "no_fix_of_time");
  for (const char* key : {"low", "high", "cost", "time_cost"}) {
    EXPECT_TRUE(savings[key].is_null()) << key;
    EXPECT_EQ(savings[std::string(key) + "_reason"], "not_quantified");
  }
}

TEST(TogetherTest, AnOfferAloneSaysNothingOfTime) {
  const auto audit = OneGpu(3600, [](int s) { return s < 990 ? 0 : 100; });
  Recommendation spot;
  spot.id = "spot";
  spot.axis = Axis::kRate;
  spot.saving = SavingRange{0, 0.6, 0.75};
  audit->report.advice.recommendations = {spot};
  CombinedSaving& s = audit->report.advice.savings;
  s.rate_fraction = s.total_fraction = 0.6;
  s.rate_lever = "spot";
  s.cost = M("2.40");
  const std::string note = ViewOf(audit->report, {}).recommendations.notes.front();
  EXPECT_TRUE(Contains(note, "All together $2.40: 60.0 % of the bill")) << note;
  EXPECT_TRUE(Contains(note, "Less time alone: not quantified, waste is")) << note;
  const nlohmann::json savings = nlohmann::json::parse(AuditJson(audit->report))["savings"];
  EXPECT_EQ(savings["cost"], "2.40");
  EXPECT_EQ(savings["low"], 0.0);
  EXPECT_EQ(savings["time_cost_reason"], "not_quantified");
}

TEST(TogetherTest, ACheaperHourStandsApartFromLessTime) {
  const auto audit = OneGpu(3600, [](int s) { return s < 2250 ? 0 : 100; });
  Recommendation spot;
  spot.id = "spot";
  spot.title = "Run on spot capacity";
  spot.axis = Axis::kRate;
  spot.saving = SavingRange{0, 0.6, 0.75};
  audit->report.advice.recommendations = {spot};
  CombinedSaving& s = audit->report.advice.savings;
  s.rule = "pools";
  s.cap = 0.625;
  s.time_fraction = 0.5;
  s.rate_fraction = 0.6;
  s.rate_lever = "spot";
  s.total_fraction = 0.8;
  s.naive_sum = 1.1;
  s.cost = M("3.20");
  s.time_cost = M("2.00");
  const std::string note = ViewOf(audit->report, {}).recommendations.notes.front();
  for (const char* part : {"All together $3.20: 80.0 % of the bill", "Less time alone $2.00: 50.0 %, by the pools rule",
                           "waste is $2.50 (62.5 %), and no fix of waste can save more", "falls by 60.0 % with spot",
                           "idleburn did not check whether the job may run there",
                           "is 110 %, but it counts the same hours more than once"}) {
    EXPECT_TRUE(Contains(note, part)) << part << "\n" << note;
  }
  EXPECT_EQ(nlohmann::json::parse(AuditJson(audit->report))["savings"]["rate_lever"], "spot");
}

TEST(FindingTextTest, AShareOfATraceIsCalledOne) {
  const auto audit = OneGpu(3600, [](int) { return 50; });
  Finding sync;
  sync.cause = "synchronization";
  sync.title = "The host waits";
  sync.status = Status::kLikely;
  sync.share = 0.36;
  sync.of_run = 0.0001;
  sync.gpu_ns = kNanosPerHour / 10'000;
  Finding live = sync;
  live.of_run.reset();
  live.waste_ns = kNanosPerHour / 4;
  live.cost = M("1");
  audit->report.advice.findings = {live, sync};
  const AuditView view = ViewOf(audit->report, {});
  EXPECT_TRUE(Contains(view.why[0], ": $1.00, 25.0 % of the bill")) << view.why[0];
  EXPECT_TRUE(Contains(view.why[1], "36.0 % of the traced window")) << view.why[1];
  EXPECT_TRUE(Contains(view.findings.rows[1][3], "36.0 % of the traced window"));
  const nlohmann::json json = nlohmann::json::parse(AuditJson(audit->report));
  EXPECT_EQ(json["findings"][0]["share_of"], "observed_time");
  EXPECT_EQ(json["findings"][1]["share_of"], "traced_window");
}

}  // namespace
}  // namespace idleburn
