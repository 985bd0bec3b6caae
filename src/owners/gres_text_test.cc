#include "owners/gres_text.h"

#include <gtest/gtest.h>

#include "support/property.h"

namespace idleburn {
namespace {

using Numbers = std::vector<std::int64_t>;

GresUse OnlyUse(std::string_view text) {
  const auto uses = ParseGres(text);
  EXPECT_TRUE(uses && uses->size() == 1) << text;
  return uses && uses->size() == 1 ? uses->front() : GresUse{};
}

TEST(GresTextTest, ReadsDevicesOfAJob) {
  const GresUse typed = OnlyUse("gpu:h100:2(IDX:0-1)");
  EXPECT_EQ(typed.name, "gpu");
  EXPECT_EQ(typed.count, 2);
  EXPECT_EQ(typed.devices, (Numbers{0, 1}));
  EXPECT_EQ(OnlyUse("gpu:8(IDX:0-5,7,9)").devices, (Numbers{0, 1, 2, 3, 4, 5, 7, 9}));
  EXPECT_EQ(OnlyUse("gpu:h100:0(IDX:N/A)").devices, Numbers{});
  EXPECT_EQ(OnlyUse("gpu:a100:2(S:0-1)(IDX:2-3)").devices, (Numbers{2, 3}));
}

TEST(GresTextTest, ReadsSharesOfDevices) {
  const GresUse old_form = OnlyUse("shard:h100:3(IDX:3)");  // of Slurm 22.05
  EXPECT_EQ(old_form.count, 3);
  EXPECT_EQ(old_form.devices, Numbers{3});
  EXPECT_EQ(old_form.shares, Numbers{});
  const GresUse new_form = OnlyUse("shard:a100:3(0/4,1/4,2/4)");
  EXPECT_EQ(new_form.devices, (Numbers{1, 2}));
  EXPECT_EQ(new_form.shares, (Numbers{1, 2}));
  EXPECT_EQ(OnlyUse("mps:1K(IDX:0)").count, 1024);
}

TEST(GresTextTest, ReadsLists) {
  const auto uses = ParseGres("gpu:a100:2(IDX:0,2),gpu:v100:1(IDX:4),mps:10");
  ASSERT_TRUE(uses);
  ASSERT_EQ(uses->size(), 3U);
  EXPECT_EQ((*uses)[1].devices, Numbers{4});
  EXPECT_EQ(ParseGres("")->size(), 0U);
  EXPECT_EQ(ParseGres("(null)")->size(), 0U);
}

// Slurm tells of two GPUs, but names one, three, or none: none of these may be guessed.
TEST(GresTextTest, RefusesOtherForms) {
  for (const char* text : {"gpu:2(IDX:0)", "gpu:1(IDX:0,1)", "gpu:2(IDX:N/A)", "gpu:2(IDX:2-0)", "gpu:2(IDX:0,0)",
                           "gpu:2(IDX:-1,0)", "gpu:x", "gpu", ":2", "gpu:2(IDX:0-999999999)", "gpu:2)",
                           "gpu:h100:99999999999999999999(IDX:0)", "shard:1(5/4)", "shard:1(1)", "gpu:2(IDX:0-1),"}) {
    if (std::string_view(text) == "gpu:2(IDX:0-1),") {
      EXPECT_TRUE(ParseGres(text)) << text;  // an empty rest is nothing
    } else {
      EXPECT_FALSE(ParseGres(text)) << text;
    }
  }
}

TEST(GresTextTest, FindsANodeInAList) {
  const auto place = FindNode("gpu[01-03,07]", "gpu03");
  ASSERT_TRUE(place);
  EXPECT_EQ(place->position, 2U);
  EXPECT_EQ(place->nodes, 4U);
  EXPECT_EQ(FindNode("gpu[01-03,07]", "gpu07")->position, 3U);
  EXPECT_EQ(FindNode("a1,gpu[9-11]-ib,b", "gpu10-ib")->position, 2U);
  EXPECT_EQ(FindNode("gpu[9-11]", "gpu10")->position, 1U);
  for (const char* other : {"gpu3", "gpu003", "gpu08", "gpu0", "xgpu03", "gpu03x", ""}) {
    EXPECT_FALSE(FindNode("gpu[01-03,07]", other)->position) << other;
  }
  for (const char* bad : {"gpu[1-", "gpu[3-1]", "gpu[a-b]", "gpu[1-2][1-2]", "gpu]1[", "gpu[1-999999999]", "a,,b"}) {
    EXPECT_FALSE(FindNode(bad, "gpu1")) << bad;
  }
}

// The same list, written out by brute force.
TEST(GresTextTest, FindsEveryNodeOfEveryRange) {
  test::ExpectProperty("positions in a range", [] {
    const auto first = *rc::gen::inRange(0, 1200);
    const auto count = *rc::gen::inRange(1, 40);
    const auto width = *rc::gen::inRange(1, 5);
    const auto padded = [&](int n) {
      const std::string digits = std::to_string(n);
      return std::string(static_cast<std::size_t>(std::max(0, width - static_cast<int>(digits.size()))), '0') + digits;
    };
    const std::string list = "x,n[" + padded(first) + "-" + padded(first + count - 1) + "]";
    for (int i = 0; i < count; ++i) {
      const auto place = FindNode(list, "n" + padded(first + i));
      RC_ASSERT(place && place->position == static_cast<std::size_t>(i + 1));
      RC_ASSERT(place->nodes == static_cast<std::size_t>(count + 1));
    }
    RC_ASSERT(!FindNode(list, "n" + padded(first + count))->position);
  });
}

TEST(GresTextTest, SurvivesAnyText) {
  test::ExpectProperty("any text", [](const std::string& text, const std::string& node) {
    ParseGres(text);
    ParseIndexList(text);
    FindNode(text, node);
  });
}

}  // namespace
}  // namespace idleburn
