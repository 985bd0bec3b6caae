// Whatever a job prints, and however it is torn: no crash, and the same work is read.
#include <string_view>

#include "base/result.h"
#include "run/progress_lines.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  idleburn::ProgressReader whole;
  whole.Feed(text);
  whole.Finish();
  idleburn::ProgressReader torn;
  for (std::size_t at = 0; at < size; at += 7) torn.Feed(text.substr(at, 7));
  torn.Finish();
  CHECK(whole.done() == torn.done());
  return 0;
}
