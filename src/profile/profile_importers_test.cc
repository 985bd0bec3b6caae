#include "profile/profile_importers.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace idleburn {
namespace {

const ProfileImporter* Find(std::string_view name, std::string_view head) {
  const Result<const ProfileImporter*> found = FindProfileImporter(name, head);
  EXPECT_TRUE(found) << found.error().message;
  return found ? *found : nullptr;
}

TEST(ProfileImportersTest, FormatsAreFoundByTheirFirstBytes) {
  const ProfileImporter* nsys = Find("any.name", std::string_view("SQLite format 3\0...", 19));
  ASSERT_NE(nsys, nullptr);
  EXPECT_EQ(nsys->name, "Nsight Systems SQLite");
  const ProfileImporter* xplane = Find("any.name", "\x0A\x09\x12\x07/device:GPU:0");
  ASSERT_NE(xplane, nullptr);
  EXPECT_EQ(xplane->name, "TensorFlow and JAX xplane.pb");
  const ProfileImporter* trace =
      Find("any.name", R"({"traceEvents":[{"ph":"M","name":"process_name","args":{"name":"/device:GPU:0"}},)");
  ASSERT_NE(trace, nullptr);
  EXPECT_EQ(trace->name, "TensorFlow and JAX trace.json");
  const ProfileImporter* kineto = Find("any.name", R"({"schemaVersion":1,"traceEvents":[{"ph":"X","cat":"kernel",)");
  ASSERT_NE(kineto, nullptr);
  EXPECT_EQ(kineto->name, "PyTorch profiler trace");
  for (const char* other : {"", "timestamp, name, utilization.gpu [%]\n", "{}", "SQLite"}) {
    EXPECT_EQ(Find("log.csv", other), nullptr) << other;
  }
}

TEST(ProfileImportersTest, ReportsThatMustBeExportedSayHow) {
  for (const char* name : {"a/b.nsys-rep", "b.qdrep", "b.qdstrm", "b.ncu-rep"}) {
    const Result<const ProfileImporter*> found = FindProfileImporter(name, "\x01\x02\x03");
    ASSERT_FALSE(found) << name;
    EXPECT_EQ(found.error().message.find(std::string(name) + ": is a re"), 0U);
    EXPECT_NE(found.error().message.find("nsys export --type sqlite REPORT."), std::string::npos);
  }
  EXPECT_NE(Find("renamed.nsys-rep", std::string_view("SQLite format 3\0", 16)), nullptr);  // the content decides
}

TEST(ProfileImportersTest, NamesAreUnique) {
  std::set<std::string_view> names;
  for (const ProfileImporter& importer : ProfileImporters()) EXPECT_TRUE(names.insert(importer.name).second);
}

}  // namespace
}  // namespace idleburn
