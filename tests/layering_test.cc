// The dependency diagram of docs/ARCHITECTURE.md as a test: an #include of a module that is not in the includer's
// row fails the build.
#include <gtest/gtest.h>

#include "places.h"
#include "support/layers.h"
#include "support/source_tree.h"

namespace idleburn::testing {
namespace {

// A module uses only rows above it. To let one use more, change its row here, its links in CMakeLists.txt and its
// line in docs/ARCHITECTURE.md, the tests below hold the three together.
const std::vector<LayerRow>& Layers() {
  static const std::vector<LayerRow> kLayers = {
      {"base", 0, {}},
      {"text", 1, {"base"}},
      {"os", 1, {"base"}},
      {"stats", 1, {"base"}},
      {"terminal", 2, {"base", "text", "os"}},
      {"verify", 2, {"base", "text", "stats"}},
      {"telemetry", 2, {"base", "text", "os"}},
      {"expose", 2, {"base", "text", "os"}},
      {"config", 3, {"base", "text", "os", "terminal"}},
      {"classify", 3, {"base", "telemetry"}},
      {"import", 3, {"base", "text", "os", "telemetry"}},
      {"measure", 3, {"base", "text", "os", "stats", "telemetry"}},
      {"profile", 3, {"base", "text", "os", "telemetry"}},
      {"watch", 4, {"base", "text", "telemetry", "classify"}},
      {"price", 4, {"base", "text", "os", "telemetry", "config", "classify"}},
      {"run", 4, {"base", "text", "os", "telemetry", "measure"}},
      {"owners", 4, {"base", "text", "os", "telemetry", "measure"}},
      {"agent",
       5,
       {"base", "text", "os", "terminal", "telemetry", "classify", "measure", "price", "run", "owners", "expose"}},
      {"diagnose", 5, {"base", "text", "stats", "telemetry", "classify", "profile", "price"}},
      {"recommend", 6, {"base", "text", "stats", "telemetry", "classify", "price", "diagnose"}},
      {"history", 7, {"base", "text", "os", "terminal", "config", "recommend"}},
      {"plan", 8, {"base", "text", "os", "stats", "telemetry", "config", "price", "history"}},
      {"audit",
       8,
       {"base", "text", "os", "terminal", "verify", "telemetry", "config", "classify", "import", "measure", "profile",
        "watch", "price", "run", "diagnose", "recommend", "history"}},
      {"tco", 9, {"base", "text", "os", "stats", "config", "recommend", "history", "plan"}},
      {"compare",
       9,
       {"base", "text", "os", "terminal", "verify", "telemetry", "config", "import", "price", "diagnose", "history",
        "audit"}},
      {"trial", 9, {"base", "text", "os", "stats", "terminal", "config", "measure", "run", "plan", "audit"}},
      {"doctor",
       9,
       {"base", "text", "os", "telemetry", "config", "import", "measure", "price", "run", "owners", "expose", "history",
        "audit"}},
      {"fleet",
       9,
       {"base", "text", "os", "telemetry", "config", "classify", "import", "price", "diagnose", "recommend", "history",
        "audit"}},
      {"bill",
       10,
       {"base", "text", "os", "stats", "telemetry", "classify", "import", "price", "history", "audit", "fleet"}},
      {"report", 11, {"base",   "text",    "os",       "terminal",  "telemetry", "config", "classify",
                      "import", "price",   "diagnose", "recommend", "history",   "plan",   "audit",
                      "tco",    "compare", "trial",    "doctor",    "fleet",     "bill"}},
      {"top", 12, {"base", "text", "os", "telemetry", "classify", "measure", "price", "audit", "report"}},
      {"cli", 13, {"base",    "text",   "os",    "terminal",  "telemetry", "config", "measure", "price",
                   "run",     "owners", "agent", "recommend", "history",   "plan",   "audit",   "tco",
                   "compare", "trial",  "fleet", "bill",      "report",    "top"}},
      {"main.cc", 14, {"cli"}},
  };
  return kLayers;
}

const SourceTree& Project() {
  static const SourceTree kTree = ReadTree(IDLEBURN_ROOT);
  return kTree;
}

void ExpectNone(const Faults& faults) { EXPECT_TRUE(faults.empty()) << Listed(faults); }

TEST(LayeringTest, TheTableIsALayering) { ExpectNone(TableFaults(Layers())); }
TEST(LayeringTest, EveryFolderHasARow) { ExpectNone(FolderFaults(Project(), Layers())); }
TEST(LayeringTest, NothingPointsUp) { ExpectNone(IncludeFaults(Project(), Layers())); }
TEST(LayeringTest, WhatIsAllowedIsUsed) { ExpectNone(UnusedFaults(Project(), Layers())); }
TEST(LayeringTest, NoFilesIncludeEachOtherInACircle) { ExpectNone(CycleFaults(Project())); }
TEST(LayeringTest, LinksAgreeWithTheTable) { ExpectNone(LinkFaults(Project(), Layers())); }
TEST(LayeringTest, TheDocumentAgreesWithTheTable) { ExpectNone(DocumentFaults(Project(), Layers())); }

// The rest proves that each of these can fail.

const std::vector<LayerRow>& Small() {
  static const std::vector<LayerRow> kRows = {{"base", 0, {}}, {"text", 1, {"base"}}, {"os", 1, {"base"}}};
  return kRows;
}

PlantedTree& PlantSmall(PlantedTree& tree) {
  return tree.Plant("src/base/money.h", "#pragma once\n#include <string>\n")
      .Plant("src/text/number.h", "#pragma once\n#include \"base/money.h\"\n")
      .Plant("src/os/file.h", "#pragma once\n#include \"base/money.h\"\n")
      .Plant("CMakeLists.txt", "idleburn_module(base)\nidleburn_module(text base fmt::fmt)\nidleburn_module(os base)\n")
      .Plant("docs/ARCHITECTURE.md", "| L0 | `base` | - |\n| L1 | `text` | `base` |\n| L1 | `os` | `base` |\n");
}

TEST(LayeringTest, AcceptsALayeredTree) {
  PlantedTree tree;
  const SourceTree files = PlantSmall(tree).Read();
  ExpectNone(TableFaults(Small()));
  ExpectNone(FolderFaults(files, Small()));
  ExpectNone(IncludeFaults(files, Small()));
  ExpectNone(UnusedFaults(files, Small()));
  ExpectNone(CycleFaults(files));
  ExpectNone(LinkFaults(files, Small()));
  ExpectNone(DocumentFaults(files, Small()));
}

TEST(LayeringTest, NamesTablesThatAreNoLayering) {
  EXPECT_EQ(TableFaults(std::vector<LayerRow>{{"text", 1, {"base"}}, {"base", 0, {}}}).size(), 1U);  // out of order
  EXPECT_EQ(TableFaults(std::vector<LayerRow>{{"base", 0, {}}, {"text", 0, {"base"}}}).size(), 1U);  // sideways
  EXPECT_EQ(TableFaults(std::vector<LayerRow>{{"base", 0, {"base"}}}).size(), 1U);                   // itself
  EXPECT_EQ(TableFaults(std::vector<LayerRow>{{"base", 0, {}}, {"base", 0, {}}}).size(), 1U);        // twice
}

TEST(LayeringTest, NamesPlantedIncludes) {
  PlantedTree tree;
  PlantSmall(tree)
      .Plant("src/base/up.cc", "#include \"text/number.h\"\n")
      .Plant("src/text/sideways.cc", "#include <vector>\n\n#include \"os/file.h\"\n")
      .Plant("src/os/bare.cc", "#include \"file.h\"\n")
      .Plant("src/base/up_test.cc", "#include \"text/number.h\"\n");
  const Faults expected = {"src/base/up.cc:1: base may not use text",
                           "src/os/bare.cc:1: \"file.h\" is no path from src/",
                           "src/text/sideways.cc:3: text may not use os"};
  EXPECT_EQ(IncludeFaults(tree.Read(), Small()), expected);
}

TEST(LayeringTest, NamesWhatIsAllowedForNothing) {
  PlantedTree tree;
  PlantSmall(tree)
      .Plant("src/os/file.h", "#pragma once\n#include <string>\n// #include \"base/money.h\"\n")
      .Plant("src/os/file_test.cc", "#include \"os/file.h\"\n#include \"base/money.h\"\n");
  EXPECT_EQ(UnusedFaults(tree.Read(), Small()), Faults{"os may use base, which none of its files includes"});
}

TEST(LayeringTest, NamesPlantedFolders) {
  PlantedTree tree;
  PlantSmall(tree).Plant("src/other/a.h", "#pragma once\n");
  EXPECT_EQ(FolderFaults(tree.Read(), Small()), Faults{"src/other: has no row in the table of layers"});
  EXPECT_EQ(FolderFaults(SourceTree{}, Small()).size(), 3U);
}

TEST(LayeringTest, NamesPlantedCycles) {
  PlantedTree tree;
  PlantSmall(tree)
      .Plant("src/base/a.h", "#include \"base/b.h\"\n")
      .Plant("src/base/b.h", "#include \"base/c.h\"\n")
      .Plant("src/base/c.h", "#include \"base/a.h\"\n");
  EXPECT_EQ(CycleFaults(tree.Read()),
            Faults{"include cycle: src/base/a.h -> src/base/b.h -> src/base/c.h -> src/base/a.h"});
}

TEST(LayeringTest, NamesPlantedLinks) {
  PlantedTree tree;
  PlantSmall(tree).Plant("CMakeLists.txt",
                         "idleburn_module(base)\nidleburn_module(text)\nidleburn_module(os base text)\n");
  const Faults expected = {"CMakeLists.txt: os links text, which its row does not allow",
                           "CMakeLists.txt: text does not link base"};
  EXPECT_EQ(LinkFaults(tree.Read(), Small()), expected);
}

TEST(LayeringTest, NamesDocumentsThatDiffer) {
  PlantedTree tree;
  PlantSmall(tree).Plant("docs/ARCHITECTURE.md",
                         "| L0 | `base` | - |\n| L1 | `text` | `base` `os` |\n| L2 | `os` | `base` |\n");
  const Faults expected = {"docs/ARCHITECTURE.md:2: text differs from the table of layers",
                           "docs/ARCHITECTURE.md:3: os differs from the table of layers"};
  EXPECT_EQ(DocumentFaults(tree.Read(), Small()), expected);
  PlantSmall(tree).Plant("docs/ARCHITECTURE.md", "| L0 | `base` | - |\n| L1 | `text` | `base` |\n");
  EXPECT_EQ(DocumentFaults(tree.Read(), Small()), Faults{"docs/ARCHITECTURE.md: no row for os"});
}

}  // namespace
}  // namespace idleburn::testing
