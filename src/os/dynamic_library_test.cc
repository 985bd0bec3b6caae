#include "os/dynamic_library.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace idleburn {
namespace {

TEST(DynamicLibraryTest, FindsFunctionsOfASystemLibrary) {
  const Result<DynamicLibrary> library = DynamicLibrary::Open("libm.so.6");
  ASSERT_TRUE(library) << library.error().message;
  double (*cosine)(double) = nullptr;
  library->Find("cos", &cosine);
  ASSERT_NE(cosine, nullptr);
  EXPECT_DOUBLE_EQ(cosine(0), 1);
  library->Find("no_such_function", &cosine);
  EXPECT_EQ(cosine, nullptr);
}

TEST(DynamicLibraryTest, SaysWhichLibraryIsMissing) {
  const Result<DynamicLibrary> library = DynamicLibrary::Open("libno_such_library.so");
  ASSERT_FALSE(library);
  EXPECT_NE(library.error().message.find("libno_such_library.so"), std::string::npos);
}

TEST(DynamicLibraryTest, KnowsWhereTheProgramIs) {
  EXPECT_TRUE(std::filesystem::exists(ProgramFolder() + "/unit_tests"));
}

}  // namespace
}  // namespace idleburn
