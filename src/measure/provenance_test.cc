#include "measure/provenance.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>

#include "support/fake_proc.h"

namespace idleburn {

namespace {

std::map<std::string, std::string> FactsOf(const std::map<std::string, std::string>& environment) {
  std::map<std::string, std::string> facts;
  for (const RunFact& fact : ExperimentFacts([&](std::string_view name) -> std::optional<std::string> {
         const auto at = environment.find(std::string(name));
         return at == environment.end() ? std::nullopt : std::optional(at->second);
       })) {
    facts[fact.key] = fact.value;
  }
  return facts;
}

using Facts = std::map<std::string, std::string>;

TEST(Experiment, OnlyListedNamesAreKept) {
  EXPECT_EQ(FactsOf({{"SLURM_JOB_ID", "77"},
                     {"RANK", "0"},
                     {"CUDA_VISIBLE_DEVICES", "2,3"},
                     {"WANDB_API_KEY", "secret"},
                     {"AWS_SECRET_ACCESS_KEY", "secret"},
                     {"HOME", "/x"},
                     {"MLFLOW_RUN_ID", ""}}),
            (Facts{{"env.SLURM_JOB_ID", "77"}, {"env.RANK", "0"}, {"env.CUDA_VISIBLE_DEVICES", "2,3"}}));
}

TEST(Experiment, NoNameOnTheListSoundsSecret) {
  const std::regex secret("key|token|secret|passw|cred|auth|cookie|dsn", std::regex::icase);
  std::size_t asked = 0;
  ExperimentFacts([&](std::string_view name) -> std::optional<std::string> {
    EXPECT_FALSE(std::regex_search(std::string(name), secret)) << name;
    EXPECT_FALSE(name.empty());
    ++asked;
    return std::nullopt;
  });
  EXPECT_GT(asked, 50U);
}

TEST(Experiment, OfAddressesOnlyTheHostRemains) {
  EXPECT_EQ(FactsOf({{"MLFLOW_TRACKING_URI", "https://ann:word@mlflow.example.org:5000/a?token=1"}}),
            (Facts{{"env.MLFLOW_TRACKING_URI", "mlflow.example.org:5000"}}));
  EXPECT_EQ(FactsOf({{"MLFLOW_TRACKING_URI", "https://host?x=ann:word@other"}}),
            (Facts{{"env.MLFLOW_TRACKING_URI", "host"}}));
  EXPECT_EQ(FactsOf({{"MLFLOW_TRACKING_URI", "/data/mlruns"}}), Facts{});
}

TEST(Experiment, ValuesAreShortAndPrintable) {
  const Facts facts = FactsOf({{"WANDB_NAME", "a\x1b[31m\nb\x7f" + std::string(1000, 'x')}});
  const std::string& name = facts.at("env.WANDB_NAME");
  EXPECT_EQ(name.size(), 256U);
  EXPECT_EQ(name.substr(0, 9), "a?[31m?b?");
}

constexpr const char* kCommit = "0123456789abcdef0123456789abcdef01234567";

std::string FactOf(const std::vector<RunFact>& facts, const std::string& key) {
  for (const RunFact& fact : facts) {
    if (fact.key == key) return fact.value;
  }
  return {};
}
std::string CommitIn(const test::FakeRoot& root, const char* folder = "") {
  return FactOf(GitFacts(root.path() + folder), "git.commit");
}

TEST(GitFactsTest, FollowsHeadToItsBranch) {
  const test::FakeRoot root;
  EXPECT_TRUE(GitFacts(root.path()).empty());
  root.Write("/.git/HEAD", "ref: refs/heads/main\n");
  root.Write("/.git/refs/heads/main", std::string(kCommit) + "\n");
  root.Write("/src/deep/file", "x");
  EXPECT_EQ(CommitIn(root), kCommit);
  EXPECT_EQ(CommitIn(root, "/src/deep"), kCommit);
}

TEST(GitFactsTest, FindsPackedBranchesAndDetachedHeads) {
  const test::FakeRoot root;
  root.Write("/.git/HEAD", "ref: refs/heads/main\n");
  root.Write("/.git/packed-refs",
             "# pack-refs with: peeled fully-peeled sorted \n"
             "ffffffffffffffffffffffffffffffffffffffff refs/heads/main-2\n" +
                 std::string(kCommit) + " refs/heads/main\n");
  EXPECT_EQ(CommitIn(root), kCommit);
  root.Write("/.git/HEAD", "ffffffffffffffffffffffffffffffffffffffff\n");
  EXPECT_EQ(CommitIn(root), std::string(40, 'f'));
}

TEST(GitFactsTest, FindsTheRepositoryOfALinkedTree) {
  const test::FakeRoot root;
  root.Write("/main/.git/refs/heads/side", std::string(kCommit) + "\n");
  root.Write("/main/.git/worktrees/side/HEAD", "ref: refs/heads/side\n");
  root.Write("/main/.git/worktrees/side/commondir", "../..\n");
  root.Write("/side/.git", "gitdir: ../main/.git/worktrees/side\n");
  EXPECT_EQ(CommitIn(root, "/side"), kCommit);
}

TEST(GitFactsTest, WhatIsNoCommitIsNotTold) {
  const test::FakeRoot root;
  root.Write("/.git/HEAD", "ref: refs/heads/unborn\n");
  EXPECT_EQ(CommitIn(root), "");
  root.Write("/.git/HEAD", "ref: ../../etc/passwd\n");
  EXPECT_EQ(CommitIn(root), "");
  root.Write("/.git/refs/heads/loop", "ref: refs/heads/loop\n");
  root.Write("/.git/HEAD", "ref: refs/heads/loop\n");
  EXPECT_EQ(CommitIn(root), "");
}

TEST(GitFactsTest, DamagedIndexesAreRefused) {
  std::vector<StagedFile> files;
  EXPECT_FALSE(ReadGitIndex("", 10, &files));
  EXPECT_FALSE(ReadGitIndex(std::string("DIRC\0\0\0\2\0\0\0\1", 12), 10, &files));
  EXPECT_FALSE(ReadGitIndex(std::string("DIRC\0\0\0\4\0\0\0\0", 12), 10, &files));
  EXPECT_FALSE(ReadGitIndex(std::string("DIRC\0\0\0\2\0\0\0\11", 12), 8, &files));
  EXPECT_TRUE(ReadGitIndex(std::string("DIRC\0\0\0\2\0\0\0\0", 12), 10, &files));
  EXPECT_FALSE(ReadGitIndex(std::string("DIRC\0\0\0\2\0\0\0\1", 12) + std::string(62, 'x'), 10, &files));
}

// What git itself says of the same repository.
TEST(GitFactsTest, AgreesWithGit) {
  if (std::system("git --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no git";
  const test::FakeRoot root;
  root.Write("/a.txt", "one\n");
  root.Write("/long/name/of/a/folder/b.txt", "two\n");
  const std::string in = "cd " + root.path() + " && git -c init.defaultBranch=main ";
  ASSERT_EQ(std::system((in + "init -q && git add -A && git -c user.name=a -c user.email=a@b commit -q -m x && "
                              "git rev-parse HEAD > .git/said")
                            .c_str()),
            0);
  std::vector<RunFact> facts = GitFacts(root.path() + "/long/name");
  std::ifstream said(root.path() + "/.git/said");
  std::string commit;
  said >> commit;
  EXPECT_EQ(FactOf(facts, "git.commit"), commit);
  EXPECT_EQ(FactOf(facts, "git.tree"), "clean");
  root.Write("/a.txt", "longer\n");
  EXPECT_EQ(FactOf(GitFacts(root.path()), "git.tree"), "changed");
  root.Write("/a.txt", "one\n");
  std::filesystem::remove(root.path() + "/long/name/of/a/folder/b.txt");
  EXPECT_EQ(FactOf(GitFacts(root.path()), "git.tree"), "changed");
}

}  // namespace

}  // namespace idleburn
