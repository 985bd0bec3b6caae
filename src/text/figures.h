#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/money.h"
#include "base/time.h"

namespace idleburn {

// Figures for people: the only place that writes hours, money, shares, bytes, spans of time and intervals into text,
// Markdown and HTML. A reader compares and repeats them, so they have three significant digits, thousands in groups,
// and a unit that fits their size. Exact values are in JSON and CSV, which do not use this file.
//
// Three kinds of figures differ, each for a reason:
//  - Money has its minor unit ($13.62), because readers check it against invoices. Only the price of one unit, of an
//    hour or of a token, has more decimals if three digits need them ($0.0004).
//  - Shares have one decimal ("36.9 %", "100.0 %"). Shares of a bill add up to 100.0, and a column needs equal
//  decimals.
//  - Columns of hours have the decimals of their largest, but at least one (HourDecimals). They add up too.

// Three significant digits, without an exponent: 1234.5 gives "1,234", 12.345 gives "12.3", 0.000123 gives "0.000123".
// A number of 100 or more keeps all digits before the point.
std::string ThreeDigits(double value);
// A plain number with commas between its thousands: "9000.00" gives "9,000.00".
std::string Grouped(std::string number);
// With its sign, for changes: "+3.4", "-12", "0".
std::string SignedDigits(double value);
// A count of hours, gigabytes or another known unit, or "unknown".
std::string DigitsOrUnknown(const std::optional<double>& value);

// GPU-hours of a sentence: "0.317 GPU-hours", "1 GPU-hour", "12,345 GPU-hours".
std::string GpuHoursForPeople(double hours);

// The decimals of a column of hours with the total `ns`: three significant digits of the total, at least one decimal.
// 1 h has 2 ("1.00"), 0.25 h has 3, 128 h has 1. At most 9.
int HourDecimals(std::int64_t ns);
// Hours with so many decimals: 4,500,000,000,000 ns and 2 give "1.25". A zero has two at most: "0.00".
std::string HoursOfColumn(std::int64_t ns, int decimals);
// The last of so many decimals of an hour in nanoseconds. A column that adds up is rounded to it.
std::int64_t HourUnit(int decimals);

// A time span in its two largest units: "2 h 46 min", "3 d 4 h", "15 min", "5.25 s", "12 ms". The smaller unit is left
// out if it rounds to 0.
std::string DurationForPeople(Nanos span);
// The same for seconds or hours as a double. Spans beyond 292 years are in days.
std::string SecondsForPeople(double seconds);

// Bytes in binary units, as memory is counted: "63.7 GiB", "512 KiB", "12 bytes".
std::string BinaryBytes(double bytes);
// Bytes in decimal units, as storage and links are counted: "12.3 MB", "1.2 GB". A rate has "/s" behind it.
std::string DecimalBytes(double bytes);

// A share from 0 to 1, with one decimal: 0.348 gives "34.8 %". It never prints "-0.0 %". Above 100 % it has no
// decimals: "250 %". A whole of 100.0 % keeps its decimal, because it stands below its parts.
std::string PercentText(double share);
// A share that somebody set, such as a threshold or a level, or that was read: "95 %", "2.5 %".
std::string StatedPercent(double share);
// A change with its sign: "+3.4 %", "-12.0 %".
std::string SignedPercent(double share);
// An interval of shares with one unit and equal decimals: "20 to 35 %", "26.0 to 30.4 %". A zero is "0".
std::string PercentInterval(double low, double high);

// Money to its minor unit: "$16.00", "1,600 JPY". Only USD has a sign that no reader mistakes; other currencies keep
// their code.
std::string Amount(Money m, std::string_view currency);
// The price of one unit: to the minor unit, or with three significant digits if they need more decimals: "$3.00",
// "$0.0004", "0.125 EUR". `amount` is in units of the currency.
std::string UnitPrice(double amount, std::string_view currency);
inline std::string UnitPrice(Money m, std::string_view currency) {
  return UnitPrice(static_cast<double>(m.nano()) / 1e9, currency);
}
// "$2.95 to $12.29".
std::string AmountInterval(Money low, Money high, std::string_view currency);

}  // namespace idleburn
