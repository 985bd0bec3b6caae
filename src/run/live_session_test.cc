#include "run/live_session.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace idleburn {
namespace {

// A folder of the test's own, and what a file in it holds.
class AlertCommandTest : public ::testing::Test {
 protected:
  AlertCommandTest() : folder_(::testing::TempDir() + "alert.XXXXXX") { EXPECT_NE(mkdtemp(folder_.data()), nullptr); }
  ~AlertCommandTest() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string Path() const { return folder_ + "/told"; }
  [[nodiscard]] std::string Told() const {
    std::ifstream in(Path());
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

 private:
  std::string folder_;
};

TEST_F(AlertCommandTest, EveryAlertArrivesInOrderBeforeTheEnd) {
  {
    const auto command = AlertCommand::Start("sleep 0.05; echo \"$IDLEBURN_ALERT_KIND: $IDLEBURN_ALERT\" >> " + Path());
    ASSERT_TRUE(command) << command.error().message;
    EXPECT_TRUE((*command)->Tell("warn", "80 % of \"the budget\" $HOME `x` is\nspent"));
    EXPECT_TRUE((*command)->Tell("stop", std::string(100'000, 'x')));
    EXPECT_TRUE((*command)->Tell("warn", ""));
  }
  const std::string told = Told();
  EXPECT_EQ(told.find("warn: 80 % of \"the budget\" $HOME `x` is\nspent\nstop: xxx"), 0U) << told.substr(0, 200);
  EXPECT_EQ(told.substr(told.size() - 7), "warn: \n");
}

TEST_F(AlertCommandTest, ItIsNobodysChildButItsOwn) {
  {
    const auto command = AlertCommand::Start("ps -o ppid= -p $$ > " + Path() + "; ps -o sid= -p $$ >> " + Path());
    ASSERT_TRUE(command);
    EXPECT_TRUE((*command)->Tell("warn", "x"));
  }
  EXPECT_EQ(Told().find(std::to_string(getpid())), std::string::npos) << Told();
}

TEST_F(AlertCommandTest, AFailureIsSaid) {
  ::testing::internal::CaptureStderr();
  {
    const auto command = AlertCommand::Start("echo to nobody; exit 3");
    ASSERT_TRUE(command);
    EXPECT_TRUE((*command)->Tell("warn", "the budget"));
  }
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(said,
            "to nobody\nidleburn: --on-alert: it ended with exit 3; the alert may not have arrived: the budget\n");
}

}  // namespace

}  // namespace idleburn
