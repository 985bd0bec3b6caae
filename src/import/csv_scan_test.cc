#include "import/csv_scan.h"

#include <string>
#include <utility>
#include <vector>

#include "support/property.h"

namespace idleburn {
namespace {

using Lines = std::vector<std::vector<std::uint32_t>>;

Lines Found(Delimiters& delimiters, const std::string& text) {
  const std::string padded = text + std::string(Delimiters::kPad, '\n');  // what follows the block is none of it
  delimiters.Find(padded.data(), text.size());
  Lines lines;
  std::uint32_t before = UINT32_MAX;
  for (std::size_t i = 0; i < delimiters.lines(); ++i) {
    const auto line = delimiters.Line(i);
    EXPECT_EQ(line.data()[-1], before);
    before = line.back();
    lines.emplace_back(line.begin(), line.end());
  }
  return lines;
}

Lines ByHand(const std::string& text) {
  Lines lines;
  std::vector<std::uint32_t> line;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ',' || text[i] == '\n') line.push_back(static_cast<std::uint32_t>(i));
    if (text[i] == '\n') lines.push_back(std::exchange(line, {}));
  }
  return lines;
}

TEST(Delimiters, AllOfThemInOrder) {
  Delimiters delimiters;  // used again and again: nothing of an earlier block stays
  test::ExpectProperty("delimiters", [&delimiters] {
    const auto text = *rc::gen::container<std::string>(rc::gen::weightedElement<char>(
        {{3, ','}, {1, '\n'}, {4, '1'}, {2, ' '}, {1, '\xAC'}, {1, '\x8A'}, {1, '-'}, {1, '\0'}}));
    RC_ASSERT(Found(delimiters, text) == ByHand(text));
  });
}

TEST(Delimiters, EveryLengthAroundAStepAndNothingButCommas) {
  Delimiters delimiters;
  for (std::size_t size = 0; size < 300; ++size) {
    for (const char c : {',', '\n'}) {
      const std::string text = std::string(size, c) + "\n";
      EXPECT_EQ(Found(delimiters, text), ByHand(text)) << size;
    }
  }
}

// A block of text with what may be read around it.
struct Block {
  explicit Block(const std::string& lines) : padded(std::string(64, '7') + lines + std::string(64, '8')) {
    delimiters.Find(padded.data() + 64, lines.size());
    for (std::size_t i = 0; i < kSignalCount; ++i) {
      values[i].resize(delimiters.lines() + 1);
      out[i] = values[i].data();
    }
    usual.resize(delimiters.lines() + 1);
  }
  NumberRows Rows(std::size_t columns) {
    return {padded.data() + 64, delimiters.cell_end(), delimiters.last_cell(), delimiters.lines(), columns,
            out.data(),         usual.data()};
  }
  std::string padded;
  Delimiters delimiters;
  std::array<std::vector<std::int64_t>, kSignalCount> values;
  std::array<std::int64_t*, kSignalCount> out{};
  std::vector<std::uint8_t> usual;
};

NumberColumn Column(std::size_t position, Signal signal, std::uint32_t scale, std::int32_t most, NumberForm form) {
  return {position, signal, scale, most, form};
}

struct Case {
  const char* cell;
  bool usual;
  std::int64_t value;
};

// Of a column that wrote "12.34 W", in milliwatts, up to 1000 W.
TEST(NumberCells, OneFormAndNoOther) {
  const NumberColumn watts = Column(0, Signal::kPower, 10, 100'000, NumberForm("12.34", " W"));
  const Case kCases[] = {
      {" 0.00 W", true, 0},
      {" 7.89 W", true, 7890},
      {"7.89 W", true, 7890},
      {" 1000.00 W", true, 1'000'000},
      {" 1000.01 W", false, 0},
      {" 00000.42 W", true, 420},
      {" 000042.42 W", true, 42'420},
      {" 0000042.42 W", false, 0},
      {" .42 W", false, 0},
      {" 42.4 W", false, 0},
      {" 42.424 W", false, 0},
      {" 42 W", false, 0},
      {" 42.42W", false, 0},
      {" 42.42 ", false, 0},
      {" 42.42 w", false, 0},
      {" 42.42 mW", false, 0},
      {"  42.42 W", false, 0},
      {" -42.42 W", false, 0},
      {" 4 2.42 W", false, 0},
      {" 4:.42 W", false, 0},
      {" 4/.42 W", false, 0},
      {" 42.42 W ", false, 0},
      {"", false, 0},
      {" ", false, 0},
      {" [N/A]", false, 0},
      {" 42.42 W\r", false, 0},
      {" 42,42 W", false, 0},
      {" \xB1"
       "2.42 W",
       false, 0},
      {" 42\xAE"
       "42 W",
       false, 0},
  };
  for (const Case& c : kCases) {
    Block block(std::string(c.cell) + "\n");
    const NumberPair pair(watts, watts);
    for (const auto read : {ReadNumbers, ReadNumbersPlainly}) {
      read({&pair, 1}, block.Rows(1));
      EXPECT_EQ(block.usual[0] != 0, c.usual) << "'" << c.cell << "'";
      if (!c.usual) continue;
      EXPECT_EQ(block.values[Index(Signal::kPower)][0], c.value) << c.cell;
    }
  }
}

TEST(NumberCells, AFormThatIsTooLongMatchesNothing) {
  for (const NumberForm& form : {NumberForm(), NumberForm("1.0", " kilowatt"), NumberForm("0.12345678", "")}) {
    const NumberPair pair(Column(0, Signal::kPower, 1, INT32_MAX, form), Column(0, Signal::kPower, 1, INT32_MAX, form));
    Block block("1.0 kilowatt\n1\n\n0.12345678\n");
    ReadNumbers({&pair, 1}, block.Rows(1));
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(block.usual[i], 0) << i;
  }
}

// Lines of usual and damaged cells: what is read many characters at once is what is read one by one.
TEST(NumberCells, AllAtOnceIsOneByOne) {
  test::ExpectProperty("number cells", [] {
    struct Form {
      const char* number;
      const char* suffix;
    };
    const auto form = rc::gen::element(Form{"1", ""}, Form{"1", " %"}, Form{"1.5", ""}, Form{"12.34", " W"},
                                       Form{"1.123", " MiB"}, Form{"7", " MHz\r"});
    const auto columns = *rc::gen::inRange<std::size_t>(1, 7);
    std::vector<Form> forms;
    std::vector<NumberColumn> numbers;
    for (std::size_t i = 0; i < columns; ++i) {
      forms.push_back(*form);
      const auto signal = static_cast<Signal>(i);
      const auto scale = *rc::gen::element<std::uint32_t>(1, 10, 1'048'576);
      const auto most = *rc::gen::element<std::int32_t>(100, 99'999'999);
      numbers.push_back(Column(i, signal, scale, most, NumberForm(forms[i].number, forms[i].suffix)));
    }
    std::string text;
    for (int lines = *rc::gen::inRange(0, 30); lines > 0; --lines) {
      const std::size_t cells = *rc::gen::weightedElement<std::size_t>({{9, columns}, {1, columns + 1}});
      for (std::size_t i = 0; i < cells; ++i) {
        const Form& f = forms[i % columns];
        std::string cell = *rc::gen::element<std::string>("", " ", "  ");
        cell += std::to_string(*rc::gen::element(0, 7, 99, 100, 101, 12'345, 99'999'999, 100'000'000));
        for (std::size_t d = 1; d < std::string(f.number).size(); ++d) cell += d == 1 ? '.' : '3';
        cell += f.suffix;
        if (*rc::gen::inRange(0, 12) == 0)
          cell[*rc::gen::inRange<std::size_t>(0, cell.size())] = *rc::gen::arbitrary<char>();
        text += (i == 0 ? "" : ",") + cell;
      }
      text += '\n';
    }
    std::vector<NumberPair> pairs;
    for (std::size_t i = 0; i < columns; i += 2) pairs.emplace_back(numbers[i], numbers[std::min(i + 1, columns - 1)]);
    Block quick(text);
    Block plain(text);
    ReadNumbers(pairs, quick.Rows(columns));
    ReadNumbersPlainly(pairs, plain.Rows(columns));
    for (std::size_t line = 0; line < quick.delimiters.lines(); ++line) {
      RC_ASSERT(quick.usual[line] == plain.usual[line]);
      for (std::size_t i = 0; i < columns && quick.usual[line] != 0; ++i) {
        RC_ASSERT(quick.values[i][line] == plain.values[i][line]);
      }
    }
  });
}

}  // namespace

}  // namespace idleburn
