#include "verify/jobs_csv.h"

#include <gtest/gtest.h>

#include "text/line_reader.h"

namespace idleburn {
namespace {

Result<std::vector<JobPair>> Read(const std::string& text) {
  StringSource source{text};
  return ReadJobsCsv(source);
}

TEST(JobsCsvTest, ReadsEachJobOnce) {
  const auto jobs = Read("team,job,after,before,selected\nx,a,12.5,10,Yes\nx,b,-1e3, 20 ,0\n");
  ASSERT_TRUE(jobs) << jobs.error().message;
  ASSERT_EQ(jobs->size(), 2U);
  EXPECT_EQ((*jobs)[0].first, 10);
  EXPECT_EQ((*jobs)[0].second, 12.5);
  EXPECT_TRUE((*jobs)[0].chosen);
  EXPECT_EQ((*jobs)[1].first, 20);
  EXPECT_EQ((*jobs)[1].second, -1000);
  EXPECT_FALSE((*jobs)[1].chosen);
}

TEST(JobsCsvTest, WhatIsNoJobIsRefusedWithItsPlace) {
  const auto refused = [](const std::string& rows, const char* says) {
    const auto jobs = Read("job,before,after,selected\n" + rows);
    ASSERT_FALSE(jobs) << rows;
    EXPECT_NE(jobs.error().message.find(says), std::string::npos) << jobs.error().message;
  };
  refused("a,1,2,no\na,3,4,no\n", ":3: job: 'a' stands there twice");
  refused("a,x,2,no\n", ":2: before: 'x' is no number");
  refused("a,1,inf,no\n", ":2: after: 'inf' is no number");
  refused("a,1,nan,no\n", ":2: after: 'nan' is no number");
  refused("a,1,2e16,no\n", ":2: after: '2e16' is no number");
  refused("a,1,2,maybe\n", ":2: selected: 'maybe' is neither yes nor no");
  refused("a,1,2\n", ":2: selected: '' is neither yes nor no");
  EXPECT_FALSE(Read("job,before,after\na,1,2\n"));
  EXPECT_FALSE(Read(""));
}

}  // namespace
}  // namespace idleburn
