// The lines of any text, put together again, are the text.
#include <string>

#include "base/result.h"
#include "text/line_reader.h"
#include "text/strings.h"
#include "text/time_zone.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  idleburn::StringSource source(text);
  idleburn::LineReader reader(source);
  std::string again;
  std::string_view line;
  while (reader.Next(&line).value_or(false)) {
    again += line;
    if (text[again.size()] == '\r' && (!reader.terminated() || text[again.size() + 1] == '\n')) again += '\r';
    if (reader.terminated()) again += '\n';
    idleburn::CivilTime time;
    bool zoned = false;
    std::string_view rest = line;
    if (idleburn::TakeCivilTime(rest, &time, &zoned)) {
      const idleburn::Instant instant = idleburn::InUtc(time);
      CHECK(idleburn::ParseRfc3339(idleburn::FormatRfc3339(instant)).value() == instant);
    }
    const std::string shown = idleburn::Printable(line);
    CHECK(idleburn::Printable(shown) == shown);
    CHECK(idleburn::HtmlEscaped(line).find('<') == std::string::npos);
    CHECK(idleburn::CsvCell(line).find('\n') == std::string::npos);
  }
  CHECK(size > idleburn::LineReader::kMaxLine || again == text);
  return 0;
}
