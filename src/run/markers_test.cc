#include "run/markers.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "support/live_log.h"
#include "support/property.h"

namespace idleburn {
namespace {

void Append(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary | std::ios::app) << text;
}

TEST(Markers, ALineIsRead) {
  const auto marker = ParseMarker("step=12,samples=384,tokens=99,epoch=2,rank=3,pid=77,later=1");
  ASSERT_TRUE(marker);
  EXPECT_EQ(marker->rank, 3);
  EXPECT_EQ(marker->pid, 77);
  EXPECT_EQ(marker->done, (WorkCount{{12, 384, 99, 2}}));
  EXPECT_EQ(ParseMarker("samples=5")->done, (WorkCount{{std::nullopt, 5}}));
  for (const std::string_view bad : {"", "step", "step=", "step=-1", "step=1.5", "step=1e3", "rank=1", "x=1",
                                     "step=99999999999999999999", "step=1,,rank=2", "step=1,rank"}) {
    EXPECT_FALSE(ParseMarker(bad)) << bad;
  }
}

TEST(Markers, TheFileIsReadAsItGrows) {
  Result<MarkerFile> file = MarkerFile::Create();
  ASSERT_TRUE(file);
  const std::string path = file->path();
  Append(path, "step=1,pid=1\nstep=2,pid=1\nstep=3,p");  // the last one is being written
  file->Poll();
  EXPECT_EQ(file->ranks().at(0)[WorkUnit::kStep], 2);
  Append(path, "id=1\n");
  file->Poll();
  EXPECT_EQ(file->ranks().at(0)[WorkUnit::kStep], 3);
  // Another process of the rank, after a restart, counts from its own start.
  Append(path, "step=10,pid=2\nstep=5,rank=1,pid=3\n");
  file->Poll();
  EXPECT_EQ(file->ranks().at(0)[WorkUnit::kStep], 13);
  EXPECT_EQ(file->ranks().at(1)[WorkUnit::kStep], 5);
  EXPECT_EQ(file->refused(), 0);
  Append(path, "nonsense\n" + std::string(100'000, 'x') + "\nstep=11,pid=2\n");
  file->Poll();
  EXPECT_EQ(file->ranks().at(0)[WorkUnit::kStep], 14);
  EXPECT_EQ(file->refused(), 2);
  {
    const MarkerFile moved = std::move(*file);
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

std::map<std::int32_t, WorkCount> RanksAfter(const std::string& lines) {
  Result<MarkerFile> file = MarkerFile::Create();
  Append(file->path(), lines);
  file->Poll();
  return file->ranks();
}

// Processes that do not know their rank, as torch.multiprocessing.spawn starts them.
TEST(Markers, ProcessesOfOneRankSideBySideTakeTheSameSteps) {
  std::string lines;
  for (int step = 1; step <= 100; ++step) {
    for (int pid = 1; pid <= 8; ++pid) {
      const std::string n = std::to_string(step - (pid == 3 ? 1 : 0));
      lines += "step=" + n + ",samples=" + std::to_string(4 * step) + ",tokens=" + std::to_string(7 * step) +
               ",epoch=" + std::to_string(step / 40) + ",pid=" + std::to_string(pid) + "\n";
    }
  }
  const WorkCount once{{100, 8 * 400, 8 * 700, 2}};
  EXPECT_EQ(RanksAfter(lines).at(0), once);
  // All of them started again, with other pids: that goes on.
  std::string again = lines;
  for (std::size_t at = again.find("pid="); at != std::string::npos; at = again.find("pid=", at + 1)) {
    again.insert(at + 4, "1");
  }
  EXPECT_EQ(RanksAfter(lines + again).at(0), (WorkCount{{200, 2 * 8 * 400, 2 * 8 * 700, 4}}));
  // A parent that goes on beside the child it has forked.
  EXPECT_EQ(RanksAfter("step=5,samples=5,pid=1\nstep=3,samples=3,pid=2\nstep=9,samples=9,pid=1\n").at(0),
            (WorkCount{{9, 12}}));
}

TEST(Markers, WhatWasReadTakesNoSpace) {
  Result<MarkerFile> file = MarkerFile::Create();
  ASSERT_TRUE(file);
  std::string lines;
  for (int i = 0; i < 100'000; ++i) lines += "step=" + std::to_string(i) + ",samples=1000,pid=12345\n";
  Append(file->path(), lines);
  for (int i = 0; i < 10; ++i) file->Poll();
  EXPECT_EQ(file->ranks().at(0)[WorkUnit::kStep], 99'999);
  struct stat info {};
  ASSERT_EQ(stat(file->path().c_str(), &info), 0);
  EXPECT_EQ(static_cast<std::size_t>(info.st_size), lines.size());
  EXPECT_LT(info.st_blocks * 512, 1'500'000);
  const Result<MarkerFile> other = MarkerFile::Open("/proc/no/such/file");
  EXPECT_FALSE(other);
}

// What a killed program left is removed by the next one; what somebody reads, or may still write, is not.
TEST(Markers, WhatKilledProgramsLeftIsRemoved) {
  std::string folder = ::testing::TempDir() + "markers.XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  setenv("TMPDIR", folder.c_str(), 1);
  const auto file = [&folder](const std::string& name, int hours_ago) {
    std::string path = folder + "/" + name;
    Append(path, "step=1\n");
    const timespec then = {time(nullptr) - 3600 * hours_ago, 0};
    const std::array<timespec, 2> times = {then, then};
    EXPECT_EQ(utimensat(AT_FDCWD, path.c_str(), times.data(), 0), 0);
    return path;
  };
  const std::string stale = file("idleburn-markers.stale1", 2);
  const std::string written = file("idleburn-markers.fresh1", 0);
  const std::string another = file("somebody-elses.stale1", 2);
  std::filesystem::create_symlink(another, folder + "/idleburn-markers.linked");
  {
    Result<MarkerFile> read = MarkerFile::Create();
    ASSERT_TRUE(read);
    const timespec then = {time(nullptr) - 7200, 0};
    const std::array<timespec, 2> times = {then, then};
    ASSERT_EQ(utimensat(AT_FDCWD, read->path().c_str(), times.data(), 0), 0);
    const Result<MarkerFile> next = MarkerFile::Create();
    EXPECT_TRUE(std::filesystem::exists(read->path())) << "is read still";
  }
  unsetenv("TMPDIR");
  EXPECT_FALSE(std::filesystem::exists(stale));
  EXPECT_TRUE(std::filesystem::exists(written));
  EXPECT_TRUE(std::filesystem::exists(another));
  EXPECT_TRUE(std::filesystem::is_symlink(folder + "/idleburn-markers.linked"));
  std::filesystem::remove_all(folder);
}

TEST(Markers, AFolderThatCannotBeWrittenIsNamed) {
  setenv("TMPDIR", "/proc/no/such/folder", 1);
  const Result<MarkerFile> file = MarkerFile::Create();
  unsetenv("TMPDIR");
  ASSERT_FALSE(file);
  EXPECT_NE(file.error().message.find("/proc/no/such/folder"), std::string::npos);
}

// Torn anywhere, the same is read; any bytes are survived.
TEST(Markers, TornAndBrokenLinesAreSurvived) {
  test::ExpectProperty("torn", [] {
    Result<MarkerFile> file = MarkerFile::Create();
    RC_ASSERT(file.has_value());
    for (const std::string& piece : *rc::gen::arbitrary<std::vector<std::string>>()) {
      Append(file->path(), piece);
      file->Poll();
    }
    const std::string text = "\nstep=41,rank=9\nstep=42,rank=9\n";
    const auto cut = *rc::gen::inRange<std::size_t>(0, text.size());
    Append(file->path(), text.substr(0, cut));
    file->Poll();
    Append(file->path(), text.substr(cut));
    file->Poll();
    RC_ASSERT(file->ranks().at(9)[WorkUnit::kStep] == 42);
  });
}

TEST(WorkLane, PushesChangesAndPrefersMarkers) {
  Result<MarkerFile> created = MarkerFile::Create();
  ASSERT_TRUE(created);
  const auto file = std::make_shared<MarkerFile>(std::move(*created));
  const auto watcher = std::make_shared<ProgressWatcher>();
  WorkLane lane(file, watcher);
  testing::LiveLog log;
  const auto tick = [&](std::int64_t at) { lane.Tick(Instant::FromNanos(at), log); };
  tick(1);
  EXPECT_TRUE(log.work.empty());
  watcher->OnOutput(1, "step 10 loss\nstep 20 loss\n");
  tick(2);
  tick(3);
  ASSERT_EQ(log.work.size(), 1U);
  EXPECT_EQ(log.work[0].done[WorkUnit::kStep], 20);
  EXPECT_EQ(log.work[0].time.nanos(), 2);
  watcher->OnOutput(2, "\r0%| | 0/90 [00:00<?, ?it/s]\r50%|# | 45/90 [00:01<00:01, 9it/s]\r");
  tick(4);
  ASSERT_EQ(log.work.size(), 2U);
  EXPECT_EQ(log.work[1].done[WorkUnit::kStep], 45);
  Append(file->path(), "step=7,tokens=70,rank=1\n");
  tick(5);
  watcher->OnOutput(1, "step 30 loss\n");
  tick(6);
  ASSERT_EQ(log.work.size(), 4U);
  EXPECT_EQ(log.work[2].rank, 0);  // what lines said is taken back
  EXPECT_FALSE(log.work[2].done[WorkUnit::kStep].has_value());
  EXPECT_EQ(log.work[3].rank, 1);
  EXPECT_EQ(log.work[3].done[WorkUnit::kStep], 7);
  EXPECT_EQ(log.work[3].done[WorkUnit::kToken], 70);
  EXPECT_FALSE(log.work[3].done[WorkUnit::kSample].has_value());
  Append(file->path(), "??\n??\n");
  tick(7);
  tick(8);
  EXPECT_EQ(log.notes.size(), 1U);
}

// Each stream says something of its own: what looks like a training counts, however far the other one is.
TEST(WorkLane, TheStreamThatTrainsCounts) {
  ProgressWatcher watcher;
  std::string solver;
  for (int i = 0; i < 300; ++i) solver += "Iteration " + std::to_string(i) + "\n";
  watcher.OnOutput(1, solver);
  EXPECT_EQ(watcher.done()[WorkUnit::kStep], 299);
  watcher.OnOutput(2, "step 50 loss 2.1\nstep 100 loss 2.0\n");
  EXPECT_EQ(watcher.done()[WorkUnit::kStep], 100);
  ASSERT_TRUE(watcher.printed());
  EXPECT_EQ(watcher.printed()->last, 100);
}

// What lines claimed is taken back as soon as they turn out to have counted something else.
TEST(WorkLane, TakesBackWhatIsNotBelievedAnyMore) {
  const auto watcher = std::make_shared<ProgressWatcher>();
  WorkLane lane(nullptr, watcher);
  testing::LiveLog log;
  watcher->OnOutput(2, "\r0%| | 0/90 [00:00<?, ?it/s]\r100%|# | 90/90 [00:01<00:00, 9it/s]\n");
  lane.Tick(Instant::FromNanos(1), log);
  watcher->OnOutput(2, "\r0%| | 0/7 [00:00<?, ?it/s]\r");
  lane.Tick(Instant::FromNanos(2), log);
  lane.Tick(Instant::FromNanos(3), log);
  ASSERT_EQ(log.work.size(), 2U);
  EXPECT_EQ(log.work[0].done[WorkUnit::kStep], 90);
  EXPECT_FALSE(log.work[1].done[WorkUnit::kStep].has_value());
}

// A reading that a busy machine delays goes on when whoever asked for it has left.
TEST(WorkLane, OutlivesWhoeverMadeItsSources) {
  auto watcher = std::make_shared<ProgressWatcher>();
  watcher->OnOutput(1, "step 10 loss 1\nstep 20 loss 1\n");
  Result<MarkerFile> created = MarkerFile::Create();
  ASSERT_TRUE(created);
  auto file = std::make_shared<MarkerFile>(std::move(*created));
  WorkLane lane(file, watcher);
  file.reset();
  watcher.reset();
  testing::LiveLog log;
  lane.Finish(Instant::FromNanos(1), log);
  ASSERT_EQ(log.work.size(), 1U);
  EXPECT_EQ(log.work[0].done[WorkUnit::kStep], 20);
}

TEST(MarkersTest, HooksAreKeptApartFromWork) {
  const auto marker = ParseMarker("workers=4,rank=0,pid=7");
  ASSERT_TRUE(marker);
  EXPECT_EQ(marker->hooks.workers, 4);
  EXPECT_FALSE(marker->hooks.synthetic);
  EXPECT_EQ(marker->done, WorkCount{});
  Result<MarkerFile> file = MarkerFile::Create();
  ASSERT_TRUE(file);
  Append(file->path(), "workers=4,rank=0,pid=7\nsynthetic=0,rank=0,pid=7\n");
  file->Poll();
  EXPECT_EQ(file->hooks(), (HooksSaid{4, 0}));
  EXPECT_TRUE(file->ranks().empty());  // lines that a job prints go on being read
  EXPECT_EQ(file->refused(), 0);
  Append(file->path(), "step=1,synthetic=1,pid=7\n");
  file->Poll();
  EXPECT_EQ(file->hooks(), (HooksSaid{4, 1}));
  EXPECT_EQ(file->ranks().at(0)[WorkUnit::kStep], 1);
}

TEST(MarkersTest, WhatSpeaksOfRestartsIsGivenLineByLine) {
  const auto marker = ParseMarker("step=2,first_sample=8,last_sample=15,order=7,resumed=40,at_ns=99,rank=1,pid=5");
  ASSERT_TRUE(marker);
  RestartSaid said;
  said.first_sample = 8;
  said.last_sample = 15;
  said.order = 7;
  said.resumed = 40;
  said.at_ns = 99;
  EXPECT_EQ(marker->restart, said);
  EXPECT_EQ(ParseMarker("checkpoint_begin=40")->restart.checkpoint_begin, 40);
  EXPECT_FALSE(ParseMarker("checkpoint_begin=/path/to/it"));
  Result<MarkerFile> file = MarkerFile::Create();
  ASSERT_TRUE(file);
  Append(file->path(), "resumed=40,pid=1\nstep=1,checkpoint_end=41,checkpoint_bytes=5,pid=1\nnonsense\n");
  std::vector<Marker> seen;
  file->Poll([&](const Marker& m) { seen.push_back(m); });
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].restart.resumed, 40);
  EXPECT_EQ(seen[1].restart.checkpoint_bytes, 5);
  EXPECT_EQ(seen[1].done[WorkUnit::kStep], 1);
  EXPECT_EQ(file->refused(), 1);
  file->Poll([](const Marker&) { FAIL() << "nothing was appended"; });
}

}  // namespace
}  // namespace idleburn
