#include "import/json_text.h"

#include <simdjson.h>

#include <charconv>
#include <cstring>

#include "text/line_reader.h"

namespace idleburn {
namespace {

namespace dom = simdjson::dom;

template <typename Number>
std::string Decimal(Number value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

std::string_view TrimLines(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = std::min(text.find_first_not_of(kBlanks), text.size());
  return text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

}  // namespace

template <typename Element>
JsonNode JsonNode::Wrap(const Element& element) {
  static_assert(sizeof(Element) == sizeof(element_) && std::is_trivially_copyable_v<Element>);
  JsonNode node;
  std::memcpy(node.element_.data(), &element, sizeof(element));
  return node;
}

template <typename Element>
Element JsonNode::Unwrap() const {
  Element element;
  std::memcpy(&element, element_.data(), sizeof(element));
  return element;
}

JsonNode::Kind JsonNode::kind() const {
  switch (Unwrap<dom::element>().type()) {
    case dom::element_type::ARRAY:
      return Kind::kArray;
    case dom::element_type::OBJECT:
      return Kind::kObject;
    case dom::element_type::STRING:
      return Kind::kString;
    case dom::element_type::BOOL:
      return Kind::kBool;
    case dom::element_type::NULL_VALUE:
      return Kind::kNull;
    default:
      return Kind::kNumber;
  }
}

std::string JsonNode::Text() const {
  const auto element = Unwrap<dom::element>();
  switch (element.type()) {
    case dom::element_type::STRING:
      return std::string(element.get_string().value_unsafe());
    case dom::element_type::INT64:
      return Decimal(element.get_int64().value_unsafe());
    case dom::element_type::UINT64:
      return Decimal(element.get_uint64().value_unsafe());
    case dom::element_type::DOUBLE:
      return Decimal(element.get_double().value_unsafe());
    case dom::element_type::BOOL:
      return element.get_bool().value_unsafe() ? "true" : "false";
    default:
      return {};
  }
}

std::optional<JsonNode> JsonNode::Get(std::string_view key) const {
  dom::element found;
  if (Unwrap<dom::element>().at_key(key).get(found) != simdjson::SUCCESS) return std::nullopt;
  return Wrap(found);
}

std::string JsonNode::TextOf(std::string_view key) const {
  const std::optional<JsonNode> node = Get(key);
  return node ? node->Text() : std::string();
}

std::vector<JsonNode> JsonNode::Items() const {
  dom::array array;
  std::vector<JsonNode> items;
  if (Unwrap<dom::element>().get(array) != simdjson::SUCCESS) return items;
  for (const dom::element item : array) items.push_back(Wrap(item));
  return items;
}

std::vector<JsonNode> JsonNode::ItemsOf(std::string_view key) const {
  const std::optional<JsonNode> node = Get(key);
  return node ? node->Items() : std::vector<JsonNode>();
}

std::vector<std::pair<std::string, JsonNode>> JsonNode::Members() const {
  dom::object object;
  std::vector<std::pair<std::string, JsonNode>> members;
  if (Unwrap<dom::element>().get(object) != simdjson::SUCCESS) return members;
  for (const dom::key_value_pair member : object) members.emplace_back(member.key, Wrap(member.value));
  return members;
}

struct JsonParser::Impl {
  dom::parser parser;
};

JsonParser::JsonParser() : impl_(std::make_unique<Impl>()) {}
JsonParser::~JsonParser() = default;

Result<JsonNode> JsonParser::Parse(std::string_view text) {
  dom::element root;
  const simdjson::error_code error = impl_->parser.parse(text.data(), text.size(), true).get(root);
  if (error != simdjson::SUCCESS) return Fail(std::string("is no valid JSON: ") + simdjson::error_message(error));
  return JsonNode::Wrap(root);
}

Result<void> ForEachJsonDocument(ByteSource& in, DataQuality& quality,
                                 const std::function<void(const JsonNode&)>& take) {
  const std::string text = TRY(ReadAll(in, kMaxJsonBytes));
  JsonParser parser;
  const Place place{&in.name(), 0};
  std::string_view rest = text;
  while (true) {
    const auto [before, json] = TakeJsonDocument(rest);
    if (!before.empty()) quality.Count(json.empty() ? QualityId::kTornRow : QualityId::kBadRow, place);
    if (json.empty()) return {};
    if (const Result<JsonNode> document = parser.Parse(json)) {
      take(*document);
    } else {
      quality.Count(rest.empty() ? QualityId::kTornRow : QualityId::kBadRow, place);
    }
  }
}

JsonPart TakeJsonDocument(std::string_view& rest) {
  const std::size_t start = std::min(rest.find_first_of("{["), rest.size());
  const std::string_view before = TrimLines(rest.substr(0, start));
  rest.remove_prefix(start);
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const char c = rest[i];
    if (quoted) {
      i += c == '\\' ? 1 : 0;
      quoted = c != '"';
      continue;
    }
    quoted = c == '"';
    depth += c == '{' || c == '[' ? 1 : 0;
    if ((c == '}' || c == ']') && --depth == 0) {
      const std::string_view document = rest.substr(0, i + 1);
      rest.remove_prefix(i + 1);
      return {before, document};
    }
  }
  return {before, std::exchange(rest, {})};
}

}  // namespace idleburn
