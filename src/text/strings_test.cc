#include "text/strings.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <cctype>
#include <map>
#include <string>

#include "support/property.h"

namespace idleburn {
namespace {

// The C library's own classes, in the "C" locale, in which every program begins.
TEST(AsciiTest, EveryByteIsInTheClassesOfTheCLibrary) {
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    EXPECT_EQ(IsDigit(c), std::isdigit(byte) != 0) << byte;
    EXPECT_EQ(IsLower(c), std::islower(byte) != 0) << byte;
    EXPECT_EQ(IsUpper(c), std::isupper(byte) != 0) << byte;
    EXPECT_EQ(IsLetter(c), std::isalpha(byte) != 0) << byte;
    EXPECT_EQ(IsAlnum(c), std::isalnum(byte) != 0) << byte;
  }
}

TEST(CaseTest, IsOfLettersOnly) {
  EXPECT_EQ(Lower("@[GPU 0z\xC3\x84"), "@[gpu 0z\xC3\x84");
  EXPECT_TRUE(StartsWithIgnoreCase("MIG-GPU-0a", "mig-gpu"));
  EXPECT_FALSE(StartsWithIgnoreCase("MIG", "mig-"));
  EXPECT_FALSE(StartsWithIgnoreCase("@a", "`"));  // differ by the case bit, are no letters
  EXPECT_TRUE(StartsWithIgnoreCase("", ""));
}

using Parts = std::vector<std::string_view>;

TEST(SplitTest, PartsAreTrimmedAndMayBeEmpty) {
  EXPECT_EQ(Split("a, b c ,d", ','), (Parts{"a", "b c", "d"}));
  EXPECT_EQ(Split(",a,,", ','), (Parts{"", "a", "", ""}));
  EXPECT_EQ(Split("a,b", '|'), (Parts{"a,b"}));
  EXPECT_EQ(Split("", ','), (Parts{""}));
}

TEST(SplitTest, AListTextIsOfPartsOrOfWhatIsSaidOfThem) {
  EXPECT_EQ(ListText(std::vector<std::string>{"a", "b", "c"}), "a, b, c");
  EXPECT_EQ(ListText(Parts{}), "");
  const std::map<int, std::string> named = {{1, "x"}, {2, "y"}};
  EXPECT_EQ(ListText(named, ";", &std::pair<const int, std::string>::second), "x;y");
  EXPECT_EQ(ListText(std::array{3, 4}, "+", [](int i) { return std::to_string(i); }), "3+4");
}

}  // namespace

namespace {

TEST(EscapeTest, MakesControlsVisible) {
  EXPECT_EQ(Printable("plain \xC3\xA4\xE2\x82\xAC\xF0\x9F\x94\xA5"), "plain \xC3\xA4\xE2\x82\xAC\xF0\x9F\x94\xA5");
  EXPECT_EQ(Printable("\x1b[2J\x1b]0;title\x07"), "?[2J?]0;title?");
  EXPECT_EQ(Printable(std::string_view("a\0b\r\n\tc\x7f", 8)), "a?b???c?");
  EXPECT_EQ(Printable("\xC2\x9B"
                      "31m"),
            "?31m");  // C1 control sequence introducer
  EXPECT_EQ(Printable("a\xE2\x80\xAE"
                      "b\xE2\x81\xA6"
                      "c"),
            "a?b?c");  // bidirectional override and isolate
  EXPECT_EQ(Printable("a\xE2\x80\xA8"
                      "b\xE2\x80\xA9"),
            "a?b?");  // separators of lines and paragraphs
}

TEST(EscapeTest, ReplacesInvalidUtf8ByteByByte) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(Printable("\x80"), bad);
  EXPECT_EQ(Printable("a\xFF"
                      "b"),
            "a" + bad + "b");
  EXPECT_EQ(Printable("\xC3"), bad);                                // cut off
  EXPECT_EQ(Printable("\xC0\xAF"), bad + bad);                      // overlong '/'
  EXPECT_EQ(Printable("\xE0\x80\xAF"), bad + bad + bad);            // overlong '/'
  EXPECT_EQ(Printable("\xED\xA0\x80"), bad + bad + bad);            // surrogate
  EXPECT_EQ(Printable("\xF4\x90\x80\x80"), bad + bad + bad + bad);  // beyond U+10FFFF
  EXPECT_EQ(Printable("\xF5\x80\x80\x80"), bad + bad + bad + bad);
  EXPECT_EQ(Printable("\xE2\x82"
                      "A"),
            bad + bad + "A");
}

TEST(EscapeTest, EscapesHtml) {
  EXPECT_EQ(HtmlEscaped("<script>alert('x')</script> & \"y\""),
            "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;y&quot;");
}

TEST(EscapeTest, QuotesCells) {
  EXPECT_EQ(CsvCell("plain"), "plain");
  EXPECT_EQ(CsvCell(""), "");
  EXPECT_EQ(CsvCell("a,b"), "\"a,b\"");
  EXPECT_EQ(CsvCell("say \"hi\""), "\"say \"\"hi\"\"\"");
  EXPECT_EQ(CsvCell("two\nlines"), "two?lines");
}

TEST(EscapeTest, DefusesFormulas) {
  EXPECT_EQ(CsvCell("=1+2"), "'=1+2");
  EXPECT_EQ(CsvCell("=12"), "'=12");
  EXPECT_EQ(CsvCell("@12"), "'@12");
  EXPECT_EQ(CsvCell("@SUM(A1)"), "'@SUM(A1)");
  EXPECT_EQ(CsvCell("+cmd|' /C calc'!A0"), "'+cmd|' /C calc'!A0");
  EXPECT_EQ(CsvCell("-2+3"), "'-2+3");
  EXPECT_EQ(CsvCell("-"), "'-");
  EXPECT_EQ(CsvCell("=HYPERLINK(\"x\",\"y\")"), "\"'=HYPERLINK(\"\"x\"\",\"\"y\"\")\"");
  EXPECT_EQ(CsvCell("\t=1"), "'?=1");
  EXPECT_EQ(CsvCell("-3.5"), "-3.5");
  EXPECT_EQ(CsvCell("+4"), "+4");
}

TEST(EscapeTest, NothingGetsThrough) {
  test::ExpectProperty([](const std::string& text) {
    const std::string html = HtmlEscaped(text);
    RC_ASSERT(html.find_first_of("<>\"'") == std::string::npos);
    const std::string printable = Printable(text);
    for (const char c : printable) RC_ASSERT(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F);
    RC_ASSERT(Printable(printable) == printable);
  });
}

}  // namespace

}  // namespace idleburn
