#pragma once

#include <string>

namespace idleburn {

// Documents of JSON as text, for whichever `Json` a writer uses: its library stays out of headers. What is no UTF-8
// becomes U+FFFD; the library would throw.

template <typename Json>
std::string JsonLine(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Indented, with a newline at its end.
template <typename Json>
std::string JsonDocument(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace idleburn
