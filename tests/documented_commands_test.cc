// Every command line of the documents is one that the program takes; those that start a command are carried out.
#include "support/documented_commands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "places.h"
#include "support/live_command.h"

namespace idleburn::testing {
namespace {

const std::vector<DocumentedCommand>& Documented() {
  static const std::vector<DocumentedCommand> kCommands = CommandsOf(ReadTree(IDLEBURN_ROOT));
  return kCommands;
}

std::string AfterName(const std::string& words) { return words.substr(words.find(' ')); }

// What is wrong with a line, by the program's own tables of flags; empty: nothing.
std::string WhyNot(const std::string& words) {
  for (const std::string& read : OnlyRead(words)) {
    const ProgramRun run = RunIdleburn(AfterName(read));
    if (run.code != 0) return read + ": " + run.err;
  }
  return "";
}

TEST(DocumentedCommands, EveryLineIsUnderstood) {
  ASSERT_GT(Documented().size(), 80U);
  for (const DocumentedCommand& command : Documented()) {
    EXPECT_EQ(WhyNot(command.words), "") << command.where << ": " << command.words;
  }
}

// What users copy to start a command of theirs, with a command that ends soon. The line that starts nothing is found by
// its exit code: a wrong use is 2.
TEST(DocumentedCommands, LinesThatStartACommandStartIt) {
  const LiveMachine machine("gpu 0 name=NVIDIA-GeForce-RTX-4090 memory=24564MiB\nat 0 gpu 0 memory=17GiB util=90\n");
  std::filesystem::create_directory(machine.Path("bin"));
  for (const char* name : {"bin/python", "bin/CMD", "train.sh"}) {
    std::ofstream(machine.Path(name))
        << "#!/bin/sh\ni=0; while [ $i -lt 60 ]; do sleep 0.02; i=$((i+1)); echo step $i; "
           "done; echo $i >> \"$F/started\"\n";
    std::filesystem::permissions(machine.Path(name), std::filesystem::perms::owner_all);
  }
  int started = 0;
  for (const DocumentedCommand& command : Documented()) {
    const bool starts = StartsWith(command.words, "idleburn run ") || StartsWith(command.words, "idleburn plan ");
    if (!command.block || !starts) continue;
    std::filesystem::remove(machine.Path("started"));
    const ProgramRun run = machine.Run("cd $F; PATH=$F/bin:$PATH; $I" + AfterName(command.words));
    EXPECT_EQ(run.code, 0) << command.where << ": " << command.words << "\n" << run.err;
    // A probe is ended early.
    const bool to_its_end =
        command.words.find(" -- ") != std::string::npos && command.words.find("--probe") == std::string::npos;
    if (!to_its_end) continue;
    EXPECT_TRUE(std::filesystem::exists(machine.Path("started"))) << command.where << "\n" << run.err;
    ++started;
  }
  EXPECT_GE(started, 5);
}

TEST(DocumentedCommands, SeesLinesThatAreWrong) {
  PlantedTree tree;
  tree.Plant(
      "README.md",
      "Say `idleburn run --prize 2 -- CMD`, or `idleburn\nledger`; `idleburn COMMAND --help` and `idleburn.h`.\n\n"
      "    $ idleburn plan --model m --launch \\\n      -- --tga a=b -- python x.py  # a comment\n"
      "    nvidia-smi > gpu.csv\n    idleburn audit gpu.csv --price '1 # 2' > out.txt\n");
  tree.Plant("docs/a.md",
             "| `idleburn plan --predict FILE.csv [-o OUT]` | `idleburn plan --launch ... -- CMD` |\n"
             "```\nidleburn top `x`\n```\n");
  const std::vector<DocumentedCommand> found = CommandsOf(tree.Read());
  const std::vector<DocumentedCommand> expected = {
      {"README.md:4", "idleburn plan --model m --launch -- --tga a=b -- python x.py", true},
      {"README.md:7", "idleburn audit gpu.csv --price '1 # 2'", true},
      {"README.md:1", "idleburn run --prize 2 -- CMD", false},
      {"README.md:1", "idleburn ledger", false},
      {"docs/a.md:3", "idleburn top `x`", true},
      {"docs/a.md:1", "idleburn plan --predict FILE.csv -o OUT", false},
      {"docs/a.md:1", "idleburn plan --launch -- CMD", false},
  };
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].where, expected[i].where);
    EXPECT_EQ(found[i].words, expected[i].words);
    EXPECT_EQ(found[i].block, expected[i].block) << found[i].words;
  }
  EXPECT_NE(WhyNot(found[0].words).find("did you mean --tag?"), std::string::npos);
  EXPECT_EQ(WhyNot(found[1].words), "");
  EXPECT_NE(WhyNot(found[2].words).find("did you mean --price?"), std::string::npos);
}

}  // namespace
}  // namespace idleburn::testing
