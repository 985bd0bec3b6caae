#include "base/money.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>

#include "base/time.h"

namespace idleburn {
namespace {

constexpr int kNanoDigits = 9;

constexpr std::array<std::int64_t, 10> kPowersOfTen = {1,       10,        100,        1'000,       10'000,
                                                       100'000, 1'000'000, 10'000'000, 100'000'000, 1'000'000'000};

// ISO 4217, list one of January 2026, by the digits of the minor unit, without metals, tests and units of account. ANG
// and BGN were withdrawn in 2025: bills of that year still carry them.
struct CurrencyRow {
  int digits;
  std::string_view codes;
};
constexpr std::array<CurrencyRow, 4> kCurrencies = {{
    {2,
     "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF "
     "CHW CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF "
     "IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN "
     "MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS "
     "SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG"},
    {0, "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"},
    {3, "BHD IQD JOD KWD LYD OMR TND"},
    {4, "CLF UYW"},
}};

// The digits of a currency's minor unit. Absent if the code is of no currency.
std::optional<int> DigitsOf(std::string_view code) {
  if (code.size() != 3 || code.find(' ') != std::string_view::npos) return std::nullopt;
  for (const CurrencyRow& row : kCurrencies) {
    if (row.codes.find(code) != std::string_view::npos) return row.digits;
  }
  return std::nullopt;
}

// A number in nano-units, and whether no digit was lost.
struct Decimal {
  Int128 nano = 0;
  bool exact = true;
};

// The digits beyond the ninth. Rounding needs only the first of them and whether any other is not zero.
struct Tail {
  int first = -1;
  bool rest = false;
};

// Reads digit by digit into an integer of nano-units. Fails if the text is no decimal number, or too large for Money.
Result<Decimal> ParseDecimal(std::string_view text) {
  const auto bad = [&](const char* why) { return Fail("'" + std::string(text.substr(0, 40)) + "' " + why); };
  std::string_view digits = text;
  const bool negative = !digits.empty() && digits.front() == '-';
  if (negative) digits.remove_prefix(1);
  Int128 nano = 0;
  int decimals = -1;  // -1: no point yet
  int seen = 0;
  Tail tail;
  for (const char c : digits) {
    if (c == '.' && decimals < 0) {
      decimals = 0;
      continue;
    }
    if (c < '0' || c > '9') return bad("is not a decimal number; write it like 2.49");
    ++seen;
    if (decimals >= kNanoDigits) {
      if (tail.first < 0) {
        tail.first = c - '0';
      } else {
        tail.rest = tail.rest || c != '0';
      }
      continue;
    }
    nano = nano * 10 + (c - '0');
    if (decimals >= 0) ++decimals;
    if (nano > static_cast<Int128>(INT64_MAX)) return bad("is too large; amounts up to 9.2 billion are kept exactly");
  }
  if (seen == 0) return bad("is not a number; write it like 2.49");
  for (int i = std::max(decimals, 0); i < kNanoDigits; ++i) nano *= 10;
  const bool exact = tail.first <= 0 && !tail.rest;
  if (tail.first > 5 || (tail.first == 5 && (tail.rest || nano % 2 != 0))) ++nano;
  if (!FitsInt64(nano)) return bad("is too large; amounts up to 9.2 billion are kept exactly");
  return Decimal{negative ? -nano : nano, exact};
}

// The amount, or an error that says `what` is too large.
Result<Money> FromInt128(Int128 nano, const char* what) {
  if (!FitsInt64(nano)) return Fail(std::string(what) + " is beyond 9.2 billion, the largest amount kept exactly");
  return Money::Nano(static_cast<std::int64_t>(nano));
}

// The decimal digits of a magnitude, with a point before the last `decimals` of them: (5, 2) gives "0.05".
std::string Digits(Int128 magnitude, int decimals) {
  std::string text;
  for (int i = 0; magnitude > 0 || i <= decimals; ++i) {
    if (i == decimals && decimals > 0) text += '.';
    text += static_cast<char>('0' + static_cast<int>(magnitude % 10));
    magnitude /= 10;
  }
  std::reverse(text.begin(), text.end());
  return text;
}

// Hands the missing units of `floors` (their rounded total minus their sum) to the largest remainders, one each.
// There are never more of them than parts.
void HandOut(std::vector<Int128>& floors, const std::vector<Int128>& remainders, Int128 missing) {
  std::vector<std::size_t> order(floors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return remainders[a] > remainders[b]; });
  for (std::size_t i = 0; i < order.size() && missing > 0; ++i, --missing) ++floors[order[i]];
}

}  // namespace

Result<Money> Money::Parse(std::string_view text) {
  const Decimal d = TRY(ParseDecimal(text));
  if (!d.exact) return Fail("'" + std::string(text.substr(0, 40)) + "' has more than nine decimals; round it to nine");
  return Nano(static_cast<std::int64_t>(d.nano));
}

Result<Money> Money::ParseRounding(std::string_view text, bool* rounded) {
  const Decimal d = TRY(ParseDecimal(text));
  *rounded = !d.exact;
  return Nano(static_cast<std::int64_t>(d.nano));
}

Result<Money> Add(Money a, Money b) { return FromInt128(static_cast<Int128>(a.nano()) + b.nano(), "the sum"); }

Result<Money> Scale(Money a, Int128 numerator, Int128 denominator) {
  Int128 product = 0;
  if (__builtin_mul_overflow(static_cast<Int128>(a.nano()), numerator, &product))
    return Fail("the product is too large");
  return FromInt128(DivHalfEven(product, denominator), "the product");
}

Result<Money> Price(Money per_gpu_hour, std::int64_t gpu_nanos) {
  return Scale(per_gpu_hour, gpu_nanos, kNanosPerHour);
}

Result<Money> Estimate(Money whole, double fraction) {
  const double nano = static_cast<double>(whole.nano()) * fraction;
  if (!std::isfinite(nano) || std::fabs(nano) > 9.2e18) return Fail("the estimate is beyond 9.2 billion");
  return Money::Nano(static_cast<std::int64_t>(std::nearbyint(nano)));
}

// The total is rounded to `unit` first, so that the parts can sum to it. A negative total is split like a positive
// one.
Result<std::vector<Money>> Split(Money total, std::span<const std::int64_t> weights, std::int64_t unit) {
  Int128 sum = 0;
  for (const std::int64_t w : weights) {
    if (w < 0) return Fail("cannot split an amount by a negative weight");
    sum += w;
  }
  if (sum == 0) return Fail("cannot split an amount by weights that are all zero");
  const bool negative = total.nano() < 0;
  const Int128 units = DivHalfEven(negative ? -static_cast<Int128>(total.nano()) : total.nano(), unit);
  std::vector<Int128> floors;
  std::vector<Int128> remainders;
  Int128 given = 0;
  for (const std::int64_t w : weights) {
    // units x w / sum: both factors have 64 bits, so their product stays inside 128.
    const Int128 scaled = units * w;
    floors.push_back(scaled / sum);
    remainders.push_back(scaled % sum);
    given += floors.back();
  }
  HandOut(floors, remainders, units - given);
  std::vector<Money> parts;
  for (const Int128 f : floors) {
    const auto nano = static_cast<std::int64_t>(f * unit);
    parts.push_back(Money::Nano(negative ? -nano : nano));
  }
  return parts;
}

// If no amount is positive, the column is rounded as its mirror image, so that a discount rounds like a cost.
Result<std::vector<Money>> RoundColumn(std::span<const Money> exact, std::int64_t unit) {
  const bool flip = std::none_of(exact.begin(), exact.end(), [](Money m) { return m.nano() > 0; });
  Int128 total = 0;
  Int128 given = 0;
  std::vector<Int128> floors;
  std::vector<Int128> remainders;
  for (const Money m : exact) {
    const Int128 nano = flip ? -static_cast<Int128>(m.nano()) : m.nano();
    total += nano;
    floors.push_back(DivFloor(nano, unit));
    remainders.push_back(nano - floors.back() * unit);
    given += floors.back();
  }
  HandOut(floors, remainders, DivHalfEven(total, unit) - given);
  std::vector<Money> column;
  for (const Int128 f : floors) {
    const Money m = TRY(FromInt128((flip ? -f : f) * unit, "the rounded amount"));
    column.push_back(m);
  }
  return column;
}

bool IsCurrencyCode(std::string_view text) { return DigitsOf(text).has_value(); }

int MinorUnitDigits(std::string_view currency) { return DigitsOf(currency).value_or(2); }

std::string FormatMoney(Money m, int digits) {
  const std::int64_t unit = kPowersOfTen[static_cast<std::size_t>(kNanoDigits - digits)];
  const Int128 rounded = DivHalfEven(m.nano(), unit);
  return (rounded < 0 ? "-" : "") + Digits(rounded < 0 ? -rounded : rounded, digits);
}

// A loop and not a table: currencies have 0, 2 or 3 decimals.
std::int64_t MinorUnit(std::string_view currency) {
  std::int64_t unit = 1'000'000'000;
  for (int digit = MinorUnitDigits(currency); digit > 0; --digit) unit /= 10;
  return unit;
}

std::string FormatExact(Money m, int min_digits) {
  const Int128 nano = m.nano();
  std::string text = (nano < 0 ? "-" : "") + Digits(nano < 0 ? -nano : nano, kNanoDigits);
  std::size_t keep = text.size() - static_cast<std::size_t>(kNanoDigits - min_digits);
  const std::size_t last = text.find_last_not_of('0');
  keep = std::max(keep, last + 1);
  text.resize(keep);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace idleburn
