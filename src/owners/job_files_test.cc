#include "owners/job_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>

#include "support/fake_proc.h"
#include "support/property.h"

namespace idleburn {
namespace {

std::vector<NodeGpu> TwoGpus() {
  return {{"GPU-a", 0, "00000000:10:00.0", 1, "", {}},
          {"GPU-b", 1, "00000000:20:00.0", 0, "", {}},
          {"GPU-c", 2, "00000000:30:00.0", 2, "", {}},
          {"MIG-c3", 2, "00000000:30:00.0", {}, "GPU-c", 3}};
}

Instant RealNow() {
  return Instant::FromNanos(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count());
}

// A folder of files, and what else is known at a moment.
class JobFilesTest : public ::testing::Test {
 protected:
  SourceAnswer ReadAt(JobFiles& files, Nanos later = Nanos(0)) {
    return files.Read({RealNow() + later, boot_, &held_, &jobs_}, TwoGpus());
  }
  [[nodiscard]] std::string Folder() const { return root_.path() + "/jobs"; }

  test::FakeRoot root_;
  std::optional<Instant> boot_;
  std::set<std::string> held_ = {"GPU-a", "GPU-b", "MIG-c3"};
  std::map<std::string, bool, std::less<>> jobs_;
};

std::string Listed(const SourceAnswer& answer) {
  std::string text;
  for (const OwnerClaim& claim : answer.claims) {
    text += claim.raw_id + "=" + claim.holding.uuid + ":" + std::to_string(claim.holding.parts) + " ";
  }
  return text;
}

TEST_F(JobFilesTest, ReadsEachConvention) {
  root_.Write("/jobs/GPU-a", "4711 1795679569 1000\n");
  JobFiles ours({{Folder(), JobFileForm::kIdleburn}});
  const SourceAnswer answer = ReadAt(ours);
  ASSERT_EQ(answer.claims.size(), 1U);
  EXPECT_EQ(answer.claims[0].holding.owner.start, Instant::FromNanos(1795679569 * kNanosPerSecond));
  EXPECT_EQ(answer.claims[0].holding.owner.user, "1000");
  EXPECT_EQ(answer.claims[0].holding.proof, OwnerProof::kMappingFile);

  root_.Write("/dcgm/0", "17\n");
  root_.Write("/dcgm/1", "");  // no job
  root_.Write("/dcgm/2.3", "18\n19\n18\n");
  JobFiles dcgm({{root_.path() + "/dcgm", JobFileForm::kDcgm}});
  EXPECT_EQ(Listed(ReadAt(dcgm)), "17=GPU-a:1 18=MIG-c3:2 19=MIG-c3:2 ");
  EXPECT_EQ(ReadAt(dcgm).claims[1].holding.proof, OwnerProof::kEstimated);

  root_.Write("/stat/1", "20 1000\n");
  root_.Write("/stat/MIG-c3", "21 1001");
  JobFiles jobstats({{root_.path() + "/stat", JobFileForm::kJobstats}});
  EXPECT_EQ(Listed(ReadAt(jobstats)), "20=GPU-b:1 21=MIG-c3:1 ");
}

TEST_F(JobFilesTest, IgnoresFilesOfAnEarlierBoot) {
  root_.Write("/jobs/GPU-a", "1 5 1000");
  JobFiles files({{Folder(), JobFileForm::kIdleburn}});
  boot_ = RealNow() + Nanos(60 * kNanosPerSecond);
  EXPECT_EQ(Listed(ReadAt(files)), "");
  boot_ = RealNow() + Nanos(-3600 * kNanosPerSecond);
  EXPECT_EQ(Listed(ReadAt(files)), "1=GPU-a:1 ");
}

// The epilog did not run: without a process and a control group of the job the file ends to count after 60 s.
TEST_F(JobFilesTest, DropsFilesOfDeadJobs) {
  root_.Write("/jobs/GPU-a", "1 5 1000");
  JobFiles files({{Folder(), JobFileForm::kIdleburn}});
  held_.clear();
  const auto at = [&](std::int64_t seconds) { return Listed(ReadAt(files, Nanos(seconds * kNanosPerSecond))); };
  EXPECT_EQ(at(0), "1=GPU-a:1 ");
  EXPECT_EQ(at(59), "1=GPU-a:1 ");
  EXPECT_EQ(at(61), "");
  jobs_["1"] = true;  // an idle job with a control group holds its GPU for as long as it likes
  EXPECT_EQ(at(62), "1=GPU-a:1 ");
  jobs_.clear();
  EXPECT_EQ(at(100), "1=GPU-a:1 ");  // the 60 s begin again
  // A file that was away meanwhile is a new one.
  root_.Remove("/jobs/GPU-a");
  EXPECT_EQ(at(150), "");
  root_.Write("/jobs/GPU-a", "1 5 1000");
  EXPECT_EQ(at(170), "1=GPU-a:1 ");
}

TEST_F(JobFilesTest, RefusesWhatIsNoJobFile) {
  root_.Write("/secret", "1 5 1000");
  root_.Write("/jobs/.hidden", "1 5 1000");
  root_.Write("/jobs/GPU-b", "1 5 1000" + std::string(5000, ' '));
  root_.Write("/jobs/GPU-x", "1 5 1000");
  ASSERT_EQ(symlink((root_.path() + "/secret").c_str(), (Folder() + "/GPU-a").c_str()), 0);
  ASSERT_EQ(mkfifo((Folder() + "/MIG-c3").c_str(), 0600), 0);
  JobFiles files({{Folder(), JobFileForm::kIdleburn}});
  const SourceAnswer answer = ReadAt(files);
  EXPECT_EQ(Listed(answer), "");
  EXPECT_EQ(answer.unknown, (std::vector<std::string>{"GPU-a", "GPU-b", "MIG-c3"}));
  ASSERT_EQ(answer.errors.size(), 1U);
  EXPECT_EQ(answer.errors[0], "job files: " + Folder() + ": 4 files are not usable: GPU-a is a link");
}

TEST_F(JobFilesTest, NamesAFolderThatCannotBeRead) {
  JobFiles files({{"/proc/no such folder", JobFileForm::kDcgm}});
  const SourceAnswer answer = ReadAt(files);
  EXPECT_FALSE(answer.complete);
  EXPECT_EQ(answer.errors,
            std::vector<std::string>{"job files: /proc/no such folder cannot be read: No such file or directory"});
}

TEST_F(JobFilesTest, RefusesHostileTexts) {
  const auto read = [](std::string_view text, JobFileForm form) { return ParseJobFile(text, form).has_value(); };
  for (const char* text :
       {"", "a\x1b 5 1", "1", "1 5", "1 -5 2", "1 5 99999999999", "1 5 2 3", "1 5 2\n3 5 2\n", "../x 5 1", "1\t0\t1"}) {
    EXPECT_FALSE(read(text, JobFileForm::kIdleburn)) << text;
  }
  EXPECT_TRUE(read("a_b.c+d-1 5 2\n", JobFileForm::kIdleburn));
  EXPECT_FALSE(read(std::string(65, '1'), JobFileForm::kDcgm));
  EXPECT_TRUE(read("", JobFileForm::kDcgm));
  test::ExpectProperty("any text", [](const std::string& text, const std::string& name) {
    for (const JobFileForm form : {JobFileForm::kIdleburn, JobFileForm::kDcgm, JobFileForm::kJobstats}) {
      ParseJobFile(text, form);
      GpuOfJobFile(name, form, TwoGpus());
    }
  });
}

}  // namespace
}  // namespace idleburn
