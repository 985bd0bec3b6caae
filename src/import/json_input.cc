#include "import/json_input.h"

#include <simdjson.h>

#include <cctype>
#include <charconv>
#include <cstring>

#include "os/input_file.h"
#include "text/line_reader.h"

namespace idleburn {

// Only this file uses simdjson's DOM. JsonStream is our own, because simdjson needs a whole document in memory.

namespace {

namespace dom = simdjson::dom;

// The shortest decimal form that reads back as the same number.
template <typename Number>
std::string Decimal(Number value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

// The text without blanks and line ends at both ends.
std::string_view TrimLines(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = std::min(text.find_first_not_of(kBlanks), text.size());
  return text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

}  // namespace

// Copies simdjson's handle into the node. It is two words, so copying costs no more than a reference.
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

// Numbers are written anew, since simdjson keeps only their value: "1.50" becomes "1.5".
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

std::string JsonNode::GetText(std::string_view key) const {
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

std::vector<JsonNode> JsonNode::GetItems(std::string_view key) const {
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

void JsonNode::ForEachItem(const std::function<void(const JsonNode&)>& take) const {
  dom::array array;
  if (Unwrap<dom::element>().get(array) != simdjson::SUCCESS) return;
  for (const dom::element item : array) take(Wrap(item));
}

void JsonNode::ForEachMember(const std::function<void(std::string_view key, const JsonNode&)>& take) const {
  dom::object object;
  if (Unwrap<dom::element>().get(object) != simdjson::SUCCESS) return;
  for (const dom::key_value_pair member : object) take(member.key, Wrap(member.value));
}

std::string_view JsonNode::Characters() const {
  std::string_view characters;
  if (Unwrap<dom::element>().get(characters) != simdjson::SUCCESS) return {};
  return characters;
}

struct JsonParser::Impl {
  dom::parser parser;
};

JsonParser::JsonParser() : impl_(std::make_unique<Impl>()) {}
JsonParser::~JsonParser() = default;

Result<JsonNode> JsonParser::Parse(std::string_view text) {
  dom::element root;
  const simdjson::error_code error = impl_->parser.parse(text.data(), text.size(), true).get(root);
  if (error != simdjson::SUCCESS) return Fail(std::string("is not valid JSON: ") + simdjson::error_message(error));
  return JsonNode::Wrap(root);
}

// Text that is no JSON is counted and skipped: a log of answers may hold an error message between two of them. The
// last document may be cut off, which is counted as torn.
Result<void> ForEachJsonDocument(ByteSource& in, DataQuality& quality,
                                 const std::function<void(const JsonNode&)>& take) {
  const std::string text = TRY(ReadAll(in, kMaxJsonBytes));
  JsonParser parser;
  const Place place{&in.name(), 0};
  std::string_view rest = text;
  while (true) {
    // Text before the first document, between two, or behind the last.
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

// Finds the end of the document by counting brackets outside strings. Whether the text is valid JSON is left to the
// parser.
JsonPart TakeJsonDocument(std::string_view& rest) {
  const std::size_t start = std::min(rest.find_first_of("{["), rest.size());
  const std::string_view before = TrimLines(rest.substr(0, start));
  rest.remove_prefix(start);
  std::size_t depth = 0;
  bool quoted = false;
  // Brackets inside strings do not count, and neither does a quote behind a backslash.
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

namespace {

constexpr std::size_t kJsonBlock = std::size_t{64} << 10;
constexpr std::string_view kEscapes = "\"\\/bfnrt";
constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
constexpr char32_t kHigh = 0xD800;  // where the first and the second halves of surrogate pairs begin
constexpr char32_t kLow = 0xDC00;
constexpr std::string_view kAdvice = "; fetch the answer again";

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool IsSurrogate(char32_t point, char32_t first) { return point >= first && point < first + 0x400; }

}  // namespace

// An error about text that is not JSON, and about JSON that ends too early.
tl::unexpected<Error> JsonStream::Bad(std::string_view what) const {
  return Fail(Where() + ": is not valid JSON (" + std::string(what) + ")" + std::string(kAdvice));
}

tl::unexpected<Error> JsonStream::Cut() const {
  return Fail(Where() + ": the JSON ends before its last bracket, so whole GPUs may be missing" + std::string(kAdvice));
}

// Shows the next byte without taking it, and refills the buffer. False at the end of the input.
Result<bool> JsonStream::Peek(char* c) {
  if (begin_ == end_) {
    buffer_.resize(kJsonBlock);
    const std::size_t read = TRY(in_.Read(buffer_));
    begin_ = 0;
    end_ = read;
    if (end_ == 0) return false;
  }
  *c = buffer_[begin_];
  return true;
}

// Skips blanks and shows the next byte. False at the end of the input.
Result<bool> JsonStream::PeekSolid(char* c) {
  while (true) {
    const Result<bool> more = Peek(c);
    if (!more || !*more || !IsSpace(*c)) return more;
    line_ += *c == '\n' ? 1 : 0;
    ++begin_;
  }
}

// Takes the next byte, blank or not. Fails at the end of the input.
Result<void> JsonStream::Take(char* c) {
  const bool more = TRY(Peek(c));
  if (!more) return Cut();
  ++begin_;
  return {};
}

// Enters an object or array.
Result<void> JsonStream::Open(bool object) {
  ++begin_;
  if (objects_.size() == kMaxDepth) return Bad("nested too deeply");
  objects_.push_back(object);
  wants_ = Wants::kFirst;
  return {};
}

// Leaves the innermost object or array.
void JsonStream::Close() {
  ++begin_;
  objects_.pop_back();
  wants_ = objects_.empty() ? Wants::kValue : Wants::kComma;
}

// One step of a state machine. `wants_` says what may come next, and `after_key_` that a value must. Between whole
// documents anything may begin.
Result<void> JsonStream::Next(Token* token) {
  char c = 0;
  const bool more = TRY(PeekSolid(&c));
  if (!more && !objects_.empty()) return Cut();
  *token = Token::kEnd;
  if (!more) return {};
  // A container may end where its first element or a comma could follow, but not behind a comma or a key.
  const bool object = !objects_.empty() && objects_.back();
  const bool may_end = !objects_.empty() && !after_key_ && wants_ != Wants::kValue;
  if (may_end && c == (object ? '}' : ']')) {
    *token = object ? Token::kObjectEnd : Token::kArrayEnd;
    Close();
    return {};
  }
  // Behind an element: a comma, and then the next element.
  if (wants_ == Wants::kComma) {
    if (c != ',') return Bad("a comma is missing");
    ++begin_;
    wants_ = Wants::kValue;
    const bool goes_on = TRY(PeekSolid(&c));
    if (!goes_on) return Cut();
  }
  // In an object, a key and its colon come before each value.
  if (object && !after_key_) {
    *token = Token::kKey;
    return c == '"' ? ReadKey() : Bad("a member has no name");
  }
  after_key_ = false;
  *token = c == '{' ? Token::kObject : Token::kArray;
  if (c == '{' || c == '[') return Open(c == '{');
  wants_ = objects_.empty() ? Wants::kValue : Wants::kComma;
  return ReadScalar(c, token);
}

Result<void> JsonStream::Members(const std::function<Result<void>(const std::string& key, Token value)>& take) {
  while (true) {
    Token token = Token::kEnd;
    TRY(Next(&token));
    if (token == Token::kObjectEnd) return {};
    const std::string key = text_;
    TRY(Next(&token));
    TRY(take(key, token));
  }
}

Result<void> JsonStream::Items(const std::function<Result<void>(Token item)>& take) {
  while (true) {
    Token token = Token::kEnd;
    TRY(Next(&token));
    if (token == Token::kArrayEnd) return {};
    TRY(take(token));
  }
}

// Reads a key and its colon.
Result<void> JsonStream::ReadKey() {
  TRY(ReadString());
  char c = 0;
  const bool more = TRY(PeekSolid(&c));
  if (!more) return Cut();
  if (c != ':') return Bad("a colon is missing");
  ++begin_;
  after_key_ = true;
  wants_ = Wants::kValue;
  return {};
}

// Reads a string, a number, or true, false or null. Numbers stay as written: binary floating point would round a
// reading before its scale is known.
Result<void> JsonStream::ReadScalar(char first, Token* token) {
  *token = Token::kString;
  if (first == '"') return ReadString();
  text_.clear();
  char c = first;
  while (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '+' || c == '.') {
    text_ += c;
    ++begin_;
    const bool more = TRY(Peek(&c));
    if (!more) break;
    if (text_.size() > kMaxText) return Bad("a number is too long");
  }
  // Digits are not checked further: whoever reads the number does.
  const bool word = text_ == "true" || text_ == "false" || text_ == "null";
  const bool number = !text_.empty() && (text_[0] == '-' || std::isdigit(static_cast<unsigned char>(text_[0])) != 0);
  if (!word && !number) return Bad("an unknown word");
  *token = word ? Token::kWord : Token::kNumber;
  return {};
}

// Reads from the opening quote to behind the closing one.
Result<void> JsonStream::ReadString() {
  text_.clear();
  ++begin_;
  while (true) {
    char c = 0;
    TRY(Take(&c));
    if (c == '"') return {};
    if (c == '\n') return Bad("a line ends inside a string");
    if (c == '\\') {
      TRY(ReadEscape());
    } else {
      text_ += c;
    }
    if (text_.size() > kMaxText) return Bad("a string is too long");
  }
}

// Reads what follows a backslash. A surrogate pair becomes one code point.
Result<void> JsonStream::ReadEscape() {
  char c = 0;
  TRY(Take(&c));
  if (const std::size_t at = kEscapes.find(c); at != std::string_view::npos) {
    text_ += kMeanings[at];
    return {};
  }
  if (c != 'u') return Bad("an unknown escape");
  char32_t point = 0;
  TRY(ReadHex(&point));
  if (IsSurrogate(point, kHigh)) {
    char32_t low = 0;
    TRY(Take(&c));
    if (c == '\\') TRY(Take(&c));
    if (c != 'u') return Bad("half a surrogate pair");
    TRY(ReadHex(&low));
    if (!IsSurrogate(low, kLow)) return Bad("half a surrogate pair");
    // The two halves hold ten bits each.
    point = 0x10000 + ((point - kHigh) << 10) + (low - kLow);
  }
  if (IsSurrogate(point, kLow)) return Bad("half a surrogate pair");
  AppendUtf8(text_, point);
  return {};
}

// Reads four hexadecimal digits. *value is 0 before.
Result<void> JsonStream::ReadHex(char32_t* value) {
  for (int i = 0; i < 4; ++i) {
    char c = 0;
    TRY(Take(&c));
    if (std::isxdigit(static_cast<unsigned char>(c)) == 0) return Bad("an unknown escape");
    const int lower = std::tolower(static_cast<unsigned char>(c));
    *value = *value * 16 + static_cast<char32_t>(lower <= '9' ? lower - '0' : lower - 'a' + 10);
  }
  return {};
}

// Counts brackets instead of recursing, so that depth costs no stack.
Result<void> JsonStream::Skip(Token first) {
  std::size_t depth = 0;
  Token token = first;
  while (true) {
    depth += token == Token::kObject || token == Token::kArray ? 1 : 0;
    depth -= token == Token::kObjectEnd || token == Token::kArrayEnd ? 1 : 0;
    if (depth == 0) return {};
    TRY(Next(&token));
  }
}

}  // namespace idleburn
