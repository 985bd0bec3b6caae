#include "support/victoria.h"

#include <gtest/gtest.h>

#include <chrono>

namespace idleburn::testing {
namespace {

std::string WordsOf(const TempFolder& folder, const std::string& name, int port) {
  return "victoria-metrics -storageDataPath=" + (folder.path() / name).string() +
         " -httpListenAddr=127.0.0.1:" + std::to_string(port) +
         " -search.latencyOffset=0s -retentionPeriod=24 -loggerLevel=ERROR";
}

}  // namespace

Victoria::Victoria(const TempFolder& folder, const std::string& name, const std::string& import_file)
    : port_(FreePort()),
      url_("http://127.0.0.1:" + std::to_string(port_)),
      service_(WordsOf(folder, name, port_), (folder.path() / (name + ".log")).string()) {
  EXPECT_TRUE(Eventually(std::chrono::seconds(20), [&] {
    return service_.ListensAt(port_) && Ask({url_ + "/health"}).status == 200;
  })) << service_.Log();
  EXPECT_EQ(RunShell("python3 -c 'import urllib.request,sys; urllib.request.urlopen(sys.argv[1], "
                     "open(sys.argv[2],\"rb\").read())' " +
                     url_ + "/api/v1/import " + import_file)
                .code,
            0);
  Ask({url_ + "/internal/force_flush"});
}

}  // namespace idleburn::testing
