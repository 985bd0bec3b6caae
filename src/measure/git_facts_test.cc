#include "measure/git_facts.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "support/fake_proc.h"

namespace idleburn {
namespace {

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
