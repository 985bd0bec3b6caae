#include "profile/memory_snapshot.h"

#include <gtest/gtest.h>

#include <string>

#include "support/pickled.h"

namespace idleburn {
namespace {

using test::PickledBlock;
using test::PickledDict;
using test::PickledEvent;
using test::PickledInt;
using test::PickledList;
using test::PickledSegment;
using test::PickledSnapshot;
using test::PickledText;

std::string SnapshotError(const std::string& pickle) {
  const auto snapshot = ReadMemorySnapshot(pickle);
  return snapshot ? "" : snapshot.error().message;
}

TEST(MemorySnapshotTest, ReadsBlocksAndEventsWithTheirCallSites) {
  const auto snapshot = ReadMemorySnapshot(PickledSnapshot(
      {PickledSegment(1, 4096, 2048, true,
                      {PickledBlock(4096, 512, 100, "active_allocated", test::PickledFrames("/srv/u/train.py", 12)),
                       PickledBlock(4608, 512, 300, "active_pending_free"), PickledBlock(5120, 1024, 0, "inactive")})},
      {PickledList({}), PickledList({PickledEvent("segment_alloc", 4096, 2048), PickledEvent("oom", 77, 9000),
                                     PickledEvent("snapshot", 0, 0), PickledEvent("of_next_year", 0, 0)})}));
  ASSERT_TRUE(snapshot) << snapshot.error().message;
  const MemorySegment& segment = snapshot->segments->at(0);
  EXPECT_EQ(segment.device, 1);
  EXPECT_TRUE(segment.expandable);
  ASSERT_EQ(segment.blocks.size(), 3U);
  EXPECT_EQ(segment.blocks[0].requested, 100);
  EXPECT_EQ(snapshot->sites[segment.blocks[0].site], "/srv/u/train.py:12");
  EXPECT_EQ(segment.blocks[1].state, MemoryBlock::State::kPending);
  EXPECT_EQ(segment.blocks[1].site, 0U);
  EXPECT_EQ(segment.blocks[2].state, MemoryBlock::State::kFree);
  const auto& events = snapshot->traces->at(1);
  EXPECT_EQ(events[0].action, MemoryEvent::Action::kReserve);
  EXPECT_EQ(events[1].action, MemoryEvent::Action::kOutOfMemory);
  EXPECT_EQ(events[1].address, 77);
  EXPECT_EQ(events[3].action, MemoryEvent::Action::kNote);
}

TEST(MemorySnapshotTest, KnowsPyTorchsOwnFrames) {
  EXPECT_TRUE(IsUsersFrame("/srv/u/train.py", 3));
  EXPECT_TRUE(IsUsersFrame("/srv/u/torch/train.py", 3));  // a folder of that name is not PyTorch
  EXPECT_TRUE(IsUsersFrame("/venv/site-packages/transformers/trainer.py", 3));
  EXPECT_FALSE(IsUsersFrame("/venv/site-packages/torch/optim/adam.py", 3));
  EXPECT_FALSE(IsUsersFrame("/usr/lib/python3/dist-packages/torch/optim/adam.py", 3));
  EXPECT_FALSE(IsUsersFrame("/src/pytorch/torch/optim/adam.py", 3));
  EXPECT_FALSE(IsUsersFrame("/tmp/torchinductor_u/ab/cab.py", 3));
  EXPECT_FALSE(IsUsersFrame("<eval_with_key>.0", 3));
  EXPECT_FALSE(IsUsersFrame("??", 0));
  EXPECT_FALSE(IsUsersFrame("/build/aten/src/ATen/Functions.cpp", 3));
}

TEST(MemorySnapshotTest, SaysWhatIsMissing) {
  const auto block = PickledBlock(0, 512, 100, "active_allocated");
  const std::pair<std::string, const char*> cases[] = {
      {test::Pickle(PickledInt(3)), "its segments are not a list"},
      {test::Pickle(PickledDict({{"model", PickledInt(1)}})), "it has neither segments nor device_traces"},
      {PickledSnapshot({PickledDict({})}, {}), "segments[0]: has no total_size"},
      {PickledSnapshot({PickledDict({{"total_size", PickledInt(-1)}})}, {}), "segments[0]: total_size is not a size"},
      {PickledSnapshot({PickledDict({{"total_size", PickledInt(9)}})}, {}), "segments[0]: has no list of blocks"},
      {PickledSnapshot({PickledSegment(0, 0, 1024, false, {block})}, {}), "do not add up to total_size"},
      {PickledSnapshot({PickledSegment(0, 0, 100, false, {block})}, {}), "are larger than total_size"},
      {PickledSnapshot({PickledSegment(0, 0, 512, false, {PickledBlock(0, 512, 100, "lent")})}, {}),
       "segments[0].blocks[0]: its state is none that idleburn knows"},
      {PickledSnapshot({PickledSegment(0, 0, 512, false, {PickledBlock(0, 512, 513, "active_allocated")})}, {}),
       "requested_size exceeds size"},
      {PickledSnapshot({}, {PickledList({PickledDict({})})}), "device_traces[0][0]: has no action"},
      {PickledSnapshot({}, {PickledList({PickledDict({{"action", PickledText("alloc")}})})}),
       "device_traces[0][0]: has no size"},
      {PickledSnapshot({}, {PickledInt(1)}), "device_traces[0]: is not a list"},
      {test::Pickle("cposix\nsystem\n"), "opcode GLOBAL at byte 2"},
  };
  for (const auto& [pickle, words] : cases) {
    EXPECT_NE(SnapshotError(pickle).find(words), std::string::npos) << words << "\n" << SnapshotError(pickle);
  }
}

TEST(MemorySnapshotTest, AListThatIsRepeatedIsNotFollowedForever) {
  // One list of 1,000 events, which device_traces names 1,000 times by the memo.
  std::string events = "](";
  for (int i = 0; i < 1000; ++i) events += "}";
  events += "e\x94";
  std::string traces = "](" + events;
  for (int i = 0; i < 1000; ++i) traces += std::string("h\0", 2);
  EXPECT_NE(SnapshotError(test::Pickle(PickledDict({{"device_traces", traces + "e"}}))), "");
  std::string notes = "](";
  for (int i = 0; i < 1000; ++i) notes += PickledDict({{"action", PickledText("snapshot")}});
  traces = "](" + notes + "e\x94";
  for (int i = 0; i < 1000; ++i) traces += std::string("h\0", 2);
  EXPECT_NE(SnapshotError(test::Pickle(PickledDict({{"device_traces", traces + "e"}}))).find("repeats its own lists"),
            std::string::npos);
}

}  // namespace
}  // namespace idleburn
