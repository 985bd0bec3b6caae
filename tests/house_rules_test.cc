// The rules of the house (CONTRIBUTING.md) as tests, each with a planted violation that proves it can fail.
#include "support/house_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "places.h"
#include "support/cpp_outline.h"
#include "support/source_tree.h"

namespace idleburn::testing {
namespace {

constexpr std::array<std::string_view, 2> kMacros = {"CHECK", "TRY"};

const std::vector<HeavyHeader>& Heavy() {
  static const std::vector<HeavyHeader> kHeavy = {
      {"CLI/CLI.hpp", {"config"}, 1},
      {"nlohmann/json.hpp", {"report", "cli", "compare", "verify", "plan", "tco", "top", "agent", "fleet"}, 25},
      {"nlohmann/json_fwd.hpp", {}, 0},
      {"simdjson.h", {"import", "text", "owners"}, 3},
      {"duckdb.h", {"import"}, 1},
      {"expat.h", {"import"}, 1},
      {"sqlite3.h", {"os"}, 1},
      {"google/protobuf/", {"profile"}, 1},
      {"nghttp2/", {"owners"}, 1},
      {"owners/pod_resources.pb.h", {"owners"}, 1},
      {"agent/state.pb.h", {"agent"}, 1},
      {"profile/xplane.pb.h", {"profile"}, 1},
      {"toml++/", {"text", "config", "owners", "plan", "tco"}, 4},
      {"openssl/", {"os", "expose"}, 3},
      {"zlib.h", {"os"}, 2},
      {"isa-l/", {"os"}, 1},
      {"zstd.h", {"os"}, 1},
      {"yaml-cpp/", {"plan", "expose"}, 2},
      {"cctz/", {"text"}, 1},
      {"httplib.h", {"os", "expose"}, 2},
  };
  return kHeavy;
}

const SourceTree& Project() {
  static const SourceTree kTree = ReadTree(IDLEBURN_ROOT);
  return kTree;
}

std::string TextOf(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// The commands, and the files that include all sources of a module where one unit compiles it.
std::string CompileCommands() {
  const std::filesystem::path build = IDLEBURN_BUILD;
  std::string text = TextOf(build / "compile_commands.json");
  for (const auto& target : std::filesystem::directory_iterator(build / "CMakeFiles")) {
    text += TextOf(target.path() / "Unity" / "unity_0_cxx.cxx");
  }
  return text;
}

std::vector<std::string> CorpusFolders() {
  std::vector<std::string> names;
  const std::filesystem::path corpus = std::filesystem::path(IDLEBURN_ROOT) / "fuzz" / "corpus";
  if (!std::filesystem::exists(corpus)) return names;
  for (const auto& entry : std::filesystem::directory_iterator(corpus))
    names.push_back(entry.path().filename().string());
  return names;
}

void ExpectNone(const Faults& faults) { EXPECT_TRUE(faults.empty()) << Listed(faults); }

TEST(HouseRulesTest, HeadersHavePragmaOnce) { ExpectNone(PragmaFaults(Project())); }
TEST(HouseRulesTest, OwnHeaderComesFirst) { ExpectNone(OwnHeaderFaults(Project())); }
TEST(HouseRulesTest, NoUsingNamespace) { ExpectNone(UsingFaults(Project())); }
TEST(HouseRulesTest, ErrorsAreReturnedByTry) { ExpectNone(CheckedPairFaults(Project())); }
TEST(HouseRulesTest, LinesFilesAndFunctionsAreShort) { ExpectNone(SizeFaults(Project())); }
TEST(HouseRulesTest, TwoMacrosAtMost) { ExpectNone(MacroFaults(Project(), kMacros)); }
TEST(HouseRulesTest, ATypeHasItsNameAlone) { ExpectNone(TypeNameFaults(Project())); }
TEST(HouseRulesTest, FoldersSayWhatTheyHold) { ExpectNone(FolderNameFaults(Project())); }
TEST(HouseRulesTest, NothingMutableOutlivesACall) { ExpectNone(StateFaults(Project())); }
TEST(HouseRulesTest, HeavyHeadersStayBehindOneFile) { ExpectNone(HeavyHeaderFaults(Project(), Heavy())); }
TEST(HouseRulesTest, EveryFileIsCompiled) { ExpectNone(DeadFileFaults(Project(), CompileCommands())); }
TEST(HouseRulesTest, EveryHeaderServesTheProduct) { ExpectNone(TestOnlyHeaderFaults(Project())); }
TEST(HouseRulesTest, EveryParserIsFuzzed) { ExpectNone(FuzzFaults(Project(), CorpusFolders())); }
TEST(HouseRulesTest, CommentsLeadSomewhere) { ExpectNone(CommentTargetFaults(Project())); }
TEST(HouseRulesTest, NothingIsUnfinishedOrOfOneMachine) { ExpectNone(WordFaults(Project())); }
TEST(HouseRulesTest, LinksLeadSomewhere) { ExpectNone(LinkTargetFaults(Project())); }
TEST(HouseRulesTest, DocumentsNameCodeThatIsThere) { ExpectNone(WalkFaults(Project())); }
TEST(HouseRulesTest, VariablesAreDocumented) { ExpectNone(VariableFaults(Project())); }
TEST(HouseRulesTest, ScriptsStopAtErrors) { ExpectNone(ScriptFaults(Project())); }

// Planted violations.

TEST(HouseRulesTest, SeesHeadersWithoutPragma) {
  PlantedTree tree;
  tree.Plant("src/base/a.h", "// Comment first.\n\n#pragma once\n")
      .Plant("src/base/b.h", "#include <string>\n#pragma once\n");
  tree.Plant("src/base/c.h", "#ifndef C\n#define C\n// #pragma once\n#endif\n").Plant("src/base/d.h", "");
  EXPECT_EQ(PragmaFaults(tree.Read()).size(), 3U);
}

TEST(HouseRulesTest, SeesOtherHeadersFirst) {
  PlantedTree tree;
  tree.Plant("src/base/a.h", "#pragma once\n").Plant("src/base/b.h", "#pragma once\n").Plant("src/base/c.h", "");
  tree.Plant("src/base/a.cc", "#include \"base/a.h\"\n#include \"base/b.h\"\n");
  tree.Plant("src/base/b.cc", "#include <string>\n#include \"base/b.h\"\n");
  tree.Plant("src/base/a_test.cc", "#include \"base/b.h\"\n").Plant("src/base/c.cc", "").Plant("src/base/alone.cc", "");
  const Faults expected = {"src/base/a_test.cc: does not include \"base/a.h\" first",
                           "src/base/b.cc: does not include \"base/b.h\" first",
                           "src/base/c.cc: does not include \"base/c.h\" first"};
  EXPECT_EQ(OwnHeaderFaults(tree.Read()), expected);
}

TEST(HouseRulesTest, SeesUsingNamespace) {
  PlantedTree tree;
  tree.Plant("src/a.cc",
             "using namespace std;\n// using namespace std;\nusing namespace std::chrono_literals;\n"
             "const char* k = \"using namespace std\";\n  using  namespace std::chrono;\n");
  EXPECT_EQ(UsingFaults(tree.Read()), (Faults{"src/a.cc:1: using namespace", "src/a.cc:5: using namespace"}));
}

TEST(HouseRulesTest, SeesResultsDeclaredAndChecked) {
  PlantedTree tree;
  tree.Plant(
      "src/a.cc",
      "  const auto a = F();\n  if (!a) return tl::unexpected<Error>(a.error());\n"
      "  Result<int> b =\n      F(1,\n        2);\n  if (!b) return tl::unexpected<Error>(std::move(b).error());\n"
      "  static const Result<int> kC = F();\n  if (!kC) return tl::unexpected<Error>(kC.error());\n"
      "  const auto d = F();\n  Tell(d);\n  if (!d) return tl::unexpected<Error>(d.error());\n");
  EXPECT_EQ(CheckedPairFaults(tree.Read()), (Faults{"src/a.cc:2: a: use TRY", "src/a.cc:6: b: use TRY"}));
}

std::string Repeated(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

TEST(HouseRulesTest, SeesWhatIsTooLong) {
  const std::string longest = std::string(116, 'x') + Repeated("\xC3\xA4", 4);  // 120 characters in 124 bytes
  PlantedTree tree;
  tree.Plant("src/a.cc", longest + "\n" + longest + "x\n").Plant("docs/a.md", longest + "x\n");
  tree.Plant("src/b.cc", Repeated("\n", 801)).Plant("src/c.cc", Repeated("\n", 800));
  tree.Plant("src/d.cc", "namespace n {\nclass A {\n int F(int a = 1) const {\n" +
                             Repeated("  if (a) { a = 2; }\n", 79) + " }\n void G() {\n" + Repeated("\n", 78) +
                             " }\n};\nconst int k[] = {\n" + Repeated("1,\n", 90) +
                             "};\nA::A()\n    : a_{1},\n      b_{2} {\n" + Repeated("  for (;;) { }\n", 80) + "}\n}\n");
  const Faults expected = {"src/a.cc:2: 121 columns", "src/b.cc: 801 lines", "src/d.cc:3: a function of 81 lines",
                           "src/d.cc:258: a function of 84 lines"};
  const Faults found = SizeFaults(tree.Read());
  EXPECT_EQ(found.size(), expected.size()) << Listed(found);
  EXPECT_TRUE(std::equal(found.begin(), found.begin() + 3, expected.begin())) << Listed(found);
}

TEST(HouseRulesTest, SeesMacros) {
  PlantedTree tree;
  tree.Plant("src/a.h", "#define CHECK(x) x\n# define MAX 3\n").Plant("src/b.h", "#define CHECK(x) x\n");
  tree.Plant("src/a_test.cc", "#define IN_TESTS\n");
  EXPECT_EQ(MacroFaults(tree.Read(), kMacros),
            (Faults{"src/a.h:2: defines macro MAX", "src/b.h:1: defines macro CHECK"}));
}

TEST(HouseRulesTest, SeesTypesOfOneName) {
  PlantedTree tree;
  tree.Plant("src/a/a.h", "struct Row {\n  struct Cell {};\n};\nclass Reader;\nenum class Kind : int { kA };\n")
      .Plant("src/b/b.h", "class Row final : public Base {};\nclass Reader {};\n  struct Cell {};\n// struct Kind {\n")
      .Plant("src/b/b.cc", "struct Row {};\n");
  EXPECT_EQ(TypeNameFaults(tree.Read()), (Faults{"src/b/b.h:1: Row is also a type of src/a/a.h"}));
}

TEST(HouseRulesTest, SeesEmptyFolderNames) {
  PlantedTree tree;
  tree.Plant("src/util/a.h", "").Plant("src/base/helpers/a.h", "").Plant("src/text/common.h", "");
  EXPECT_EQ(FolderNameFaults(tree.Read()).size(), 2U);
}

TEST(HouseRulesTest, SeesStateThatOutlivesACall) {
  PlantedTree tree;
  tree.Plant("src/good.cc",
             "namespace n {\nconstexpr int kA = 1;\nconst std::string kB = \"b\";\nextern const int kC;\n"
             "using A = std::vector<int>;\nstatic int F(int a);\nResult<Money> Add(Money a, Money b);\nclass B;\n"
             "inline constexpr std::array<int, 2> kD = {{1, 2}};\nconst std::array<int, 2> kE = {1, 2};\n"
             "struct S {\n  int a = 0;\n  std::string b;\n  static S Make();\n  static constexpr int kF = 2;\n};\n"
             "void G() {\n  static const int kH = 3;\n  int local = 4;\n  std::string text;\n"
             "  S s{1, 2};\n  static constexpr std::array<int, 2> kI = {1, 2};\n}\n"
             "template <typename T>\nvoid H(T t) { int i; }\nenum class E { kA, kB };\n}\n");
  ExpectNone(StateFaults(tree.Read()));
  tree.Plant("src/bad.cc",
             "namespace n {\nint counter = 0;\nstd::map<int, int> cache;\nstatic bool ready;\n"
             "std::vector<int> list{1, 2};\nthread_local int depth = 0;\ninline std::string name = \"x\";\n"
             "void G() {\n  static int calls = 0;\n  static std::once_flag once;\n}\nstruct S {\n"
             "  static int total;\n  static S& Instance();\n};\n}\n");
  const Faults found = StateFaults(tree.Read());
  std::string lines;
  for (const std::string& fault : found) lines += fault.substr(11, fault.find(':', 11) - 11) + " ";
  EXPECT_EQ(lines, "14 2 3 4 5 6 7 9 10 13 ") << Listed(found);
}

TEST(HouseRulesTest, SeesHeavyHeaders) {
  PlantedTree tree;
  tree.Plant("src/config/a.cc", "#include <CLI/CLI.hpp>\n").Plant("src/config/b.cc", "#include <CLI/CLI.hpp>\n");
  tree.Plant("src/import/x.h", "#include <expat.h>\n").Plant("src/price/d.cc", "#include \"duckdb.h\"\n");
  tree.Plant("src/text/r.cc", "#include <ranges>\n").Plant("src/text/j_test.cc", "#include <nlohmann/json.hpp>\n");
  tree.Plant("src/text/t.cc", "#include <toml++/toml.h>\n");
  const Faults expected = {"src/config/b.cc:1: CLI/CLI.hpp is heavy: in more than 1 files",
                           "src/import/x.h:1: expat.h is heavy: not in a header",
                           "src/price/d.cc:1: duckdb.h is heavy: not in price",
                           "src/text/r.cc:1: clang 14 cannot read <ranges> of g++ 12"};
  EXPECT_EQ(HeavyHeaderFaults(tree.Read(), Heavy()), expected);
}

TEST(HouseRulesTest, SeesDeadFiles) {
  PlantedTree tree;
  tree.Plant("src/base/a.cc", "").Plant("src/base/deep/b.cc", "").Plant("fuzz/c.cc", "").Plant("fuzz/d_fuzz.cc", "");
  tree.Plant("tools/fit/e.cc", "");
  EXPECT_EQ(DeadFileFaults(tree.Read(), "{\"file\": \"/x/src/base/a.cc\"}"),
            (Faults{"fuzz/c.cc: is no fuzz target", "src/base/deep/b.cc: is not compiled",
                    "tools/fit/e.cc: is not compiled"}));
}

TEST(HouseRulesTest, SeesHeadersThatOnlyTestsInclude) {
  PlantedTree tree;
  tree.Plant("src/base/used.h", "").Plant("src/base/alone.h", "").Plant("src/base/fixture.h", "");
  tree.Plant("src/base/alone.cc", "#include \"base/alone.h\"\n#include \"base/used.h\"\n");
  tree.Plant("src/base/a_test.cc", "#include \"base/fixture.h\"\n#include \"base/alone.h\"\n");
  tree.Plant("tools/fit/a.cc", "#include \"base/fixture.h\"\n").Plant("tests/support/b.h", "");
  EXPECT_EQ(TestOnlyHeaderFaults(tree.Read()), (Faults{"src/base/alone.h: no other file of src includes it",
                                                       "src/base/fixture.h: no other file of src includes it"}));
}

TEST(HouseRulesTest, SeesParsersWithoutFuzzTarget) {
  PlantedTree tree;
  tree.Plant(
      "src/import/importers.cc",
      "// As ImportOld did.\nImporter k[] = {{\"csv\", SniffCsv, ImportCsv}, {\"xml\", SniffXml, ImportXml}};\n");
  tree.Plant("src/profile/profile_importers.cc", "ProfileImporter k[] = {{\"a\", SniffA, ReadA}};\n");
  tree.Plant("fuzz/csv_fuzz.cc", "Fuzz(SniffCsv, ImportCsv);  // not ImportXml\n");
  EXPECT_EQ(
      FuzzFaults(tree.Read(), {"csv", "gone"}),
      (Faults{"ImportXml: has no fuzz target", "ReadA: has no fuzz target", "fuzz/corpus/gone: seeds of no target"}));
}

TEST(HouseRulesTest, SeesCommentsThatLeadNowhere) {
  PlantedTree tree;
  tree.Plant("docs/a.md", "# Title\n## 2. Costs\n### 2.1 Hours\n## What it costs\n").Plant("src/base/b.h", "");
  tree.Plant("src/base/README.md", "");
  tree.Plant("src/base/good.cc",
             "// docs/a.md, docs/a.md section 2, docs/a.md, section 2.1; docs/a.md, \"What it costs\"; README.md.\n"
             "// base/b.h; linux/stat.h; https://example.org/gone.md; the format of SQLite, section 1.3\n"
             "const char* text = \"gone.md\";  /* a section of 3 */\n");
  ExpectNone(CommentTargetFaults(tree.Read()));
  tree.Plant("src/base/bad.cc",
             "// gone.md section 2\n// docs/a.md section 1\nint a;  // docs/a.md, section 2.2\n"
             "/* docs/a.md, \"Costs\" */\n// Section 2.1 says so\nint b;  // so much (section 3.7)\n"
             "// by section 4\n// base/c.h and base/b.cc\n");
  const Faults expected = {
      "src/base/bad.cc:1: names gone.md, which is not there",  "src/base/bad.cc:2: docs/a.md has no section 1",
      "src/base/bad.cc:3: docs/a.md has no section 2.2",       "src/base/bad.cc:4: docs/a.md has no heading \"Costs\"",
      "src/base/bad.cc:5: names a section of no document",     "src/base/bad.cc:6: names a section of no document",
      "src/base/bad.cc:7: names a section of no document",     "src/base/bad.cc:8: names base/c.h, which is not there",
      "src/base/bad.cc:8: names base/b.cc, which is not there"};
  EXPECT_EQ(CommentTargetFaults(tree.Read()), expected);
}

TEST(HouseRulesTest, SeesUnfinishedWordsAndMachines) {
  PlantedTree tree;
  tree.Plant("README.md",
             "# TO"
             "DO list\nwork/todo is fine, XXXXXX too\nnot imple"
             "mented\n");
  tree.Plant("src/a.cc",
             "// FIX"
             "ME\nconst char* k = \"/wo"
             "rk/x\";\nint a = b/work/c;\n");
  tree.Plant("tools/a.sh",
             "curl https://regi"
             "stry.example.org/x\ncd /ro"
             "ot/x\nHOME=/srv\n");
  std::string places;
  for (const std::string& fault : WordFaults(tree.Read())) places += fault.substr(0, fault.find(": ")) + " ";
  EXPECT_EQ(places, "README.md:1 README.md:3 src/a.cc:1 src/a.cc:2 tools/a.sh:1 tools/a.sh:2 ");
}

TEST(HouseRulesTest, SeesBrokenLinks) {
  PlantedTree tree;
  tree.Plant("docs/a.md",
             "[x](b.md) [y](../README.md#top) [z](https://example.org) [w](#here) [v](gone.md) [u](../src)\n");
  tree.Plant("docs/b.md", "[a](a.md)\n[c](../docs/c/)\n").Plant("README.md", "[d](docs/)\n").Plant("src/a.h", "");
  EXPECT_EQ(LinkTargetFaults(tree.Read()), (Faults{"docs/a.md:1: links to gone.md, which is not there",
                                                   "docs/b.md:2: links to ../docs/c/, which is not there"}));
}

TEST(HouseRulesTest, SeesDocumentsThatNameLostCode) {
  PlantedTree tree;
  tree.Plant("src/base/a.cc", "int Add(int a);\nint Book::Take() { return Add(1); }\n");
  tree.Plant("docs/good.md",
             "`base/a.cc`, `src/base/a.cc`, `linux/b.h`, base/b.h\n| 1 | `base/a.cc` | `Add`, `Book::Take` |\n");
  ExpectNone(WalkFaults(tree.Read()));
  tree.Plant("docs/bad.md",
             "`base/b.h`\n`src/base/c.cc`\n| 1 | `base/a.cc` | `Add`, `Book` | `Sum` |\n| `base/d.cc` | `Add` |\n");
  EXPECT_EQ(
      WalkFaults(tree.Read()),
      (Faults{"docs/bad.md:1: names base/b.h, which is not there", "docs/bad.md:2: names base/c.cc, which is not there",
              "docs/bad.md:3: base/a.cc has no Book", "docs/bad.md:4: names base/d.cc, which is not there"}));
}

TEST(HouseRulesTest, SeesVariablesThatNobodyIsTold) {
  PlantedTree tree;
  tree.Plant("README.md", "Set `IDLEBURN_CFG_PRICE_RATE`.\n").Plant("docs/a/b.md", "IDLEBURN_TOLD IDLEBURN_NEAR\n");
  tree.Plant("src/a.cc", "#define IDLEBURN_MACRO\nx(\"IDLEBURN_CFG_\");\nx(\"IDLEBURN_TOLD\"), y(\"IDLEBURN_NEA\");\n");
  tree.Plant("python/idleburn/a.py", "os.environ['IDLEBURN_SHY']\n").Plant("src/a_test.cc", "\"IDLEBURN_TEST\"\n");
  tree.Plant("include/a.h", "getenv(\"IDLEBURN_TOLD_ELSE\")\n").Plant("tests/a.cc", "\"IDLEBURN_STANDIN\"\n");
  EXPECT_EQ(VariableFaults(tree.Read()), (Faults{"include/a.h:1: IDLEBURN_TOLD_ELSE is in no document",
                                                 "python/idleburn/a.py:1: IDLEBURN_SHY is in no document",
                                                 "src/a.cc:3: IDLEBURN_NEA is in no document"}));
}

TEST(HouseRulesTest, SeesScriptsThatGoOn) {
  PlantedTree tree;
  tree.Plant("tools/a.sh", "#!/usr/bin/env bash\nset -e\n")
      .Plant("tools/b.sh", "#!/usr/bin/env bash\nset -euo pipefail\n");
  EXPECT_EQ(ScriptFaults(tree.Read()), Faults{"tools/a.sh: goes on after an error"});
}

TEST(HouseRulesTest, CodeIsToldFromTextAndComments) {
  const SourceFile file = {"a.cc", {"a /* { */ b // {", "\"{\\\"{\" '{' 1'000 + '{'", "R\"(x{", "})\" c"}};
  const std::vector<std::string> expected = {"a         b     ", "\"    \" ' ' 1'000 + ' '", "     ", "    c"};
  EXPECT_EQ(CodeOf(file), expected);
  const std::vector<std::string> comments = {"  /* { */   // {", std::string(22, ' '), std::string(5, ' '),
                                             std::string(5, ' ')};
  EXPECT_EQ(CommentsOf(file), comments);
}

}  // namespace
}  // namespace idleburn::testing
