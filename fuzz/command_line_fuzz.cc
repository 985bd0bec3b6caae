// Any words are shown on the way a shell takes them; what was redacted once stays as it is; any text is cut or refused.
#include <string>
#include <vector>

#include "base/result.h"
#include "text/command_line.h"
#include "text/secrets.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == '\n') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  CHECK(idleburn::ShownCommand(words).size() + 1 >= words.size());
  const std::string shown = idleburn::WithoutSecrets(text);
  CHECK(shown.size() <= 11 * (text.size() + 1));
  const auto cut = idleburn::SplitCommand(text);
  if (cut) CHECK(!cut->empty() && cut->size() <= text.size());
  return 0;
}
