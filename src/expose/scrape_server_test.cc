#include "expose/scrape_server.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

std::shared_ptr<const Exposed> Nothing() { return std::make_shared<const Exposed>(); }

// Without care a server that is stopped before its loop runs waits for ever.
TEST(ScrapeServer, StopsAtOnceAfterItsStart) {
  for (int i = 0; i < 50; ++i) {
    ServerOptions options;
    options.listen = "127.0.0.1:0";
    const auto server = ScrapeServer::Start(options, Nothing, [] {});
    ASSERT_TRUE(server) << server.error().message;
    EXPECT_GT((*server)->port(), 0);
  }
}

TEST(ScrapeServer, TwoCannotHaveOneAddress) {
  ServerOptions options;
  options.listen = "127.0.0.1:0";
  const auto first = ScrapeServer::Start(options, Nothing, [] {});
  ASSERT_TRUE(first) << first.error().message;
  options.listen = "127.0.0.1:" + std::to_string((*first)->port());
  const auto second = ScrapeServer::Start(options, Nothing, [] {});
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find(options.listen), std::string::npos) << second.error().message;
}

}  // namespace
}  // namespace idleburn
