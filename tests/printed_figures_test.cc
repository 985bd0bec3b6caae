// What people read has figures for people (text/figures.h): three significant digits, money to the cent, no "-0.0" and
// no "0.000000". JSON and CSV have exact values, so they are not read here.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "places.h"
#include "support/program.h"

namespace idleburn::testing {
namespace {

// Significant digits of a number with a point: 4 of "0.1641" and of "12.30".
std::size_t SignificantDigits(const std::string& number) {
  std::string digits;
  for (const char c : number) {
    if (c >= '0' && c <= '9' && !(digits.empty() && c == '0')) digits += c;
  }
  return digits.size();
}

// Why a figure is none for people; empty: it is one. `before` and `after` are the text around it.
std::string Fault(const std::string& number, const std::string& before, const std::string& after) {
  static const std::regex kCode(R"(^ (USD|EUR|JPY|an hour)\b)");
  const std::size_t decimals = number.size() - number.find('.') - 1;
  const bool zero = number.find_first_of("123456789") == std::string::npos;
  if (before.ends_with("Driver: ")) return "";  // a version
  if (zero && number.front() == '-') return "a zero has no sign";
  const bool money = before.ends_with("$") || std::regex_search(after, kCode);
  if (zero) return decimals > 2 ? "too many zeros" : "";
  // The price of one unit may need more decimals than a cent for its three digits.
  if (money) return decimals > 2 && SignificantDigits(number) > 3 ? "money beyond the cent" : "";
  // A whole stands below the shares that add up to it.
  if (after.starts_with(" %") && (number == "100.0" || number == "-100.0")) return "";
  return SignificantDigits(number) > 3 ? "more than three digits" : "";
}

// The figures of a page that are none for people, each with what is around it. Versions, dates, paths and addresses are
// no figures: a letter, a dot, a colon, a slash or a dash joins them to more.
std::vector<std::string> FaultsIn(const std::string& page) {
  static const std::regex kNumber(R"(-?\d[\d,]*\.\d+)");
  static const std::string kJoins = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:/#@=";
  std::vector<std::string> faults;
  for (auto at = std::sregex_iterator(page.begin(), page.end(), kNumber); at != std::sregex_iterator(); ++at) {
    const auto begin = static_cast<std::size_t>(at->position());
    const std::size_t end = begin + at->str().size();
    const std::string before = page.substr(begin - std::min<std::size_t>(begin, 40), std::min<std::size_t>(begin, 40));
    const std::string after = page.substr(end, 40);
    std::string number = at->str();
    if (number.front() == '-' && !before.empty() && kJoins.find(before.back()) != std::string::npos) {
      number.erase(0, 1);  // a range or a date
    }
    if (!before.empty() && number == at->str() && kJoins.find(before.back()) != std::string::npos) continue;
    // A point behind it ends a sentence, unless a digit follows.
    const bool joined = std::regex_search(after, std::regex(R"(^([A-Za-z_/:#@=]|\.\d))"));
    if (joined) continue;
    if (const std::string why = Fault(number, before, after); !why.empty()) {
      faults.push_back(why + ": ..." + before + number + after);
    }
  }
  return faults;
}

TEST(PrintedFigures, TheReaderSeesWhatIsWrong) {
  for (const char* page : {"for 1.0000 GPU-hours", "$13.622436974.", "2889.967 min", "0.000000 GPU-hours", "is -0.0 %",
                           "12.345 EUR", "between 26.04 and 30.4 %", "| 0.1583 |"}) {
    EXPECT_EQ(FaultsIn(page).size(), 1U) << page;
  }
  for (const char* page :
       {"for 1 GPU-hour; $1.35 (45.0 %)", "$1,413.33", "$0.0004 a sample", "100.0 %", "driver 550.54.1",
        "at 10:45:00.123", "0.0 %", "$0.00", "from 0.000264 to 12.3", "1,234 steps", "python3.1234"}) {
    EXPECT_EQ(FaultsIn(page), std::vector<std::string>()) << page;
  }
}

// Whether a command prints for programs: its numbers are exact.
bool ForPrograms(const std::string& command) {
  static const std::regex kFormats(R"(--format (json|csv|html)|-o \S+\.(json|csv|html)|--predict|history export)");
  return std::regex_search(command, kFormats);
}

// What the commands of a folder of sessions print is held byte for byte (golden_test.cc), so reading that is enough.
void ExpectFiguresForPeople(const std::string& folder) {
  int pages = 0;
  for (const auto& session : std::filesystem::directory_iterator(IDLEBURN_ROOT "/tests/golden/" + folder)) {
    std::ifstream in(session.path());
    std::string command, page;
    const auto end_page = [&] {
      if (command.empty() || page.empty() || ForPrograms(command)) return;
      ++pages;
      for (const std::string& fault : FaultsIn(page)) ADD_FAILURE() << command << ": " << fault;
    };
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("$ ")) {
        end_page();
        command = line;
        page.clear();
      } else if (line.starts_with("| ")) {
        page += line.substr(2) + "\n";
      }
    }
    end_page();
  }
  EXPECT_GT(pages, 0) << folder;
}

TEST(PrintedFigures, Audit) {
  ExpectFiguresForPeople("audit");
  ExpectFiguresForPeople("demo");
}
TEST(PrintedFigures, Screens) { ExpectFiguresForPeople("screen"); }
TEST(PrintedFigures, Compare) {
  ExpectFiguresForPeople("compare");
  ExpectFiguresForPeople("claim");
}
TEST(PrintedFigures, Tco) { ExpectFiguresForPeople("tco"); }
TEST(PrintedFigures, Plan) { ExpectFiguresForPeople("plan"); }
TEST(PrintedFigures, Combine) { ExpectFiguresForPeople("combine"); }
TEST(PrintedFigures, HistoryAndLedger) {
  ExpectFiguresForPeople("history");
  ExpectFiguresForPeople("ledger");
}

TEST(PrintedFigures, Isolate) {
  const ProgramRun run =
      RunShell("timeout 60 " IDLEBURN_PROGRAM
               " isolate --full --quiet --rounds 2 --for 1s --skip-steps 1 --knob cpu_affinity -- sh -c "
               "'i=0; while :; do sleep 0.03; i=$((i+1)); echo step $i; done'");
  EXPECT_FALSE(run.out.empty()) << run.err;
  for (const std::string& fault : FaultsIn(run.out)) ADD_FAILURE() << fault;
}

}  // namespace
}  // namespace idleburn::testing
