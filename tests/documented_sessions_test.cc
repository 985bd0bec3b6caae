// Documents are sessions that can be repeated: their scripts run, their "$ " commands run, and what they show below a
// command is what it prints.
#include "support/documented_sessions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "places.h"
#include "support/documented_commands.h"
#include "support/pages.h"
#include "support/program.h"

namespace idleburn::testing {
namespace {

// Pages that have no command, each with the reason.
struct PageWithoutCommand {
  std::string_view page;
  std::string_view reason;
};
constexpr PageWithoutCommand kWithoutCommand[] = {
    {"docs/README.md", "a list of pages"},
    {"docs/owners.md", "about the agent, which needs a node with a scheduler"},
    {"docs/ARCHITECTURE.md", "about the code, not its use"},
    {"docs/architecture/changes.md", "a table of source files"},
    {"docs/architecture/pipeline.md", "about the code, not its use"},
    {"docs/architecture/sizes.md", "a table of counts"},
};

bool NeedsNoCommand(const std::string& path) {
  return std::any_of(std::begin(kWithoutCommand), std::end(kWithoutCommand),
                     [&path](const PageWithoutCommand& row) { return row.page == path; });
}

// In a folder of the page's own, which holds examples/; `idleburn` is the program that was built.
std::string PlayedPage(const SourceFile& page) {
  const TempFolder folder;
  std::filesystem::create_directory_symlink(std::filesystem::path(IDLEBURN_ROOT) / "examples",
                                            folder.path() / "examples");
  const std::string there = "cd " + folder.path().string() + " && export LC_ALL=C.UTF-8 PATH=" +
                            std::filesystem::path(IDLEBURN_PROGRAM).parent_path().string() + ":$PATH && ";
  std::string faults;
  for (const std::string& script : ScriptsOf(page)) {
    const ProgramRun run = RunShell(there + "sh -eu " + folder.Write("page.sh", script));
    if (run.code != 0) faults += page.path + ": a script ends with " + std::to_string(run.code) + "\n" + run.err;
  }
  for (const ShownCommand& command : ShownCommandsOf(page)) {
    const ProgramRun run = RunShell(there + "sh -eu " + folder.Write("page.sh", command.words + "\n"));
    const std::string missing = FirstMissing(command.lines, run.out);
    if (run.code == 0 && missing.empty()) continue;
    faults += command.where + ": " + command.words + "\n  exit " + std::to_string(run.code) +
              ", not printed: " + missing + "\n" + run.out + run.err;
  }
  return faults;
}

TEST(DocumentedSessions, CommandsPrintWhatThePagesShow) {
  int commands = 0;
  for (const SourceFile& page : ReadTree(IDLEBURN_ROOT)) {
    if (!IsPage(page)) continue;
    commands += static_cast<int>(ShownCommandsOf(page).size());
    EXPECT_EQ(PlayedPage(page), "");
  }
  EXPECT_GE(commands, 30);
}

TEST(DocumentedSessions, EveryPageHasACommandOrAReason) {
  const SourceTree tree = ReadTree(IDLEBURN_ROOT);
  for (const SourceFile& page : tree) {
    if (!IsPage(page)) continue;
    const bool has = !CommandsOf({page}).empty();
    EXPECT_NE(has, NeedsNoCommand(page.path)) << page.path << (has ? " has a command" : " has no command");
  }
  for (const PageWithoutCommand& row : kWithoutCommand) {
    EXPECT_NE(FindFile(tree, row.page), nullptr) << row.page;
    EXPECT_FALSE(row.reason.empty());
  }
}

TEST(DocumentedSessions, SeesPagesThatShowSomethingElse) {
  const SourceFile page = {
      "docs/a.md",
      {"    $ idleburn combine --fix .35 \\", "        --fix .30", "    These fixes together", "", "      no such line",
       "", "Text.", "```sh", "echo 1 > made", "```", "    $ test -s made", "    $ idleburn combine --fxi .35"}};
  const std::vector<ShownCommand> commands = ShownCommandsOf(page);
  ASSERT_EQ(commands.size(), 3U);
  EXPECT_EQ(commands[0].where, "docs/a.md:1");
  EXPECT_EQ(commands[0].words, "idleburn combine --fix .35 --fix .30");
  EXPECT_EQ(commands[0].lines, (std::vector<std::string>{"These fixes together", "  no such line"}));
  EXPECT_EQ(ScriptsOf(page), std::vector<std::string>{"echo 1 > made\n"});
  const std::string faults = PlayedPage(page);
  EXPECT_NE(faults.find("docs/a.md:1: "), std::string::npos) << faults;
  EXPECT_EQ(faults.find("docs/a.md:11: "), std::string::npos) << faults;
  EXPECT_NE(faults.find("docs/a.md:12: "), std::string::npos) << faults;
  // In order, whole lines apart from their beginnings.
  EXPECT_EQ(FirstMissing({"a", "c"}, "a 1\nb\nc\n"), "");
  EXPECT_EQ(FirstMissing({"c", "a"}, "a 1\nb\nc\n"), "a");
}

}  // namespace
}  // namespace idleburn::testing
