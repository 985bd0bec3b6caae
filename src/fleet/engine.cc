#include "fleet/engine.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <fstream>
#include <future>

#include "os/http_peer.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;
constexpr std::size_t kLongestEngineAnswer = kMaxJsonBytes;
constexpr std::size_t kShownOfAnswer = 120;
constexpr std::size_t kQuestionsAtOnce = 2;  // of EachRange
constexpr const char* kRangePath = "/api/v1/query_range";

// A URL in its parts: "https://user:password@host:9090/prefix/".
struct EngineUrl {
  std::string base;    // "https://host:9090"
  std::string prefix;  // "/prefix"; empty: none
  std::string user;    // "user:password"; empty: none
};

Result<EngineUrl> SplitUrl(const std::string& url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string::npos || (!url.starts_with("http://") && !url.starts_with("https://"))) {
    return FailUsage("fleet: --engine " + Printable(url) + " must begin with http:// or https://");
  }
  EngineUrl parts;
  std::string rest = url.substr(scheme + 3);
  const std::size_t slash = rest.find('/');
  if (slash != std::string::npos) {
    parts.prefix = rest.substr(slash);
    rest.resize(slash);
    while (parts.prefix.ends_with('/')) parts.prefix.pop_back();
  }
  if (const std::size_t at = rest.rfind('@'); at != std::string::npos) {
    parts.user = rest.substr(0, at);
    rest.erase(0, at + 1);
  }
  if (rest.empty()) return FailUsage("fleet: --engine names no host; write http://HOST:9090");
  parts.base = url.substr(0, scheme + 3) + rest;
  return parts;
}

std::string Base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t word = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      word = word << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += i + k <= bytes.size() ? kDigits[word >> (18 - 6 * k) & 63] : '=';
    }
  }
  return text;
}

// A value of a form: everything but letters and digits as %XX.
std::string FormValue(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) {
      out += c;
    } else {
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

std::string RangeForm(const RangeQuestion& question) {
  return "query=" + FormValue(question.expression) + "&start=" + std::to_string(question.start) +
         "&end=" + std::to_string(question.end) + "&step=" + std::to_string(question.step);
}

Result<std::string> TokenIn(const std::string& file) {
  std::ifstream in(file);
  std::string token;
  if (!in || !std::getline(in, token) || Trim(token).empty()) {
    return Fail(file + ": no token; write it on the first line");
  }
  return std::string(Trim(token));
}

// Whether the engine's words say that a smaller question may be answered.
bool SaysTooMuch(int status, std::string_view words) {
  if (status == 503 || status == 504 || status == 422 || status == 429) return true;
  for (const std::string_view part : {"timeout", "timed out", "too many", "limit", "maxUnique", "exceed", "context"}) {
    if (words.find(part) != std::string_view::npos) return true;
  }
  return false;
}

std::int64_t Thousandths(std::string_view text) {
  const ScaledNumber exact = ParseScaled(text, 3);
  return exact.fault == NumberFault::kNone ? exact.value : INT64_MIN;
}

// A moment and a value, as [1772323200, "12.5"].
void TakePoint(const JsonNode& pair, EngineSeries* series) {
  std::size_t place = 0;
  ScaledNumber time;
  pair.ForEachItem([&](const JsonNode& item) {
    if (place == 0) time = ParseScaled(item.Text(), 0);
    if (place == 1 && time.fault == NumberFault::kNone) {
      const std::int64_t value = Thousandths(item.Characters());
      if (value != INT64_MIN) series->points.emplace_back(time.value, value);
    }
    ++place;
  });
}

// Reads a series. `*series` is used for many, because most of the time would go into memory for labels.
void ReadSeries(const JsonNode& node, EngineSeries* series) {
  std::size_t count = 0;
  if (const auto metric = node.Get("metric")) {
    metric->ForEachMember([&](std::string_view name, const JsonNode& value) {
      if (count == series->labels.size()) series->labels.emplace_back();
      series->labels[count].first = name;
      series->labels[count].second = value.Characters();
      ++count;
    });
  }
  series->labels.resize(count);
  if (!std::is_sorted(series->labels.begin(), series->labels.end())) {
    std::sort(series->labels.begin(), series->labels.end());
  }
  series->points.clear();
  if (const auto value = node.Get("value")) TakePoint(*value, series);
  if (const auto values = node.Get("values")) {
    values->ForEachItem([&](const JsonNode& pair) { TakePoint(pair, series); });
  }
}

}  // namespace

std::string_view EngineSeries::Label(std::string_view name) const {
  const auto found = std::lower_bound(labels.begin(), labels.end(), name,
                                      [](const auto& label, std::string_view n) { return label.first < n; });
  return found != labels.end() && found->first == name ? std::string_view(found->second) : std::string_view();
}

struct Engine::Peer {
  std::array<std::unique_ptr<HttpPeer>, kQuestionsAtOnce> http;  // each is used by one thread at a time
  std::string base;
  std::string prefix;
  std::vector<std::pair<std::string, std::string>> headers;
  Nanos patience;
  JsonParser parser;

  // Sends a form to a path of the API, or asks for the path alone. The answer is that of a success.
  Result<std::string> Ask(const std::string& path, const std::string& form, EngineTrouble* trouble) {
    return BodyOf(Fetch(*http[0], path, form), trouble);
  }

  // What came, and whether the time was over.
  struct Fetched {
    Result<HttpAnswer> answer;
    bool late = false;
  };
  [[nodiscard]] Fetched Fetch(HttpPeer& peer, const std::string& path, const std::string& form) const {
    const SteadyTime until = std::chrono::steady_clock::now() + patience;
    Fetched fetched{peer.Ask({false, prefix + path, headers, form}, until)};
    // The library's own timeout ends a little earlier, and its error does not tell it from a connection that broke.
    fetched.late = std::chrono::steady_clock::now() >= until - patience / 20;
    return fetched;
  }

  Result<std::string> BodyOf(Fetched fetched, EngineTrouble* trouble) {
    Result<HttpAnswer>& answer = fetched.answer;
    EngineTrouble why;
    if (answer && answer->status == 200) return std::move(answer->body);
    if (!answer) {
      const bool late = fetched.late;
      const std::string what = late ? "gave no whole answer in " + std::to_string(patience.count() / kNanosPerSecond) +
                                          " s; try --engine-timeout, or fewer hours at a time"
                                    : "cannot be read (" + answer.error().message + "); is it running there?";
      const bool long_answer = answer.error().message.find(kAnswerTooLong) != std::string::npos;
      why = {late || long_answer, late, Error{base + ": " + what}};
    } else {
      why = Refusal(*answer);
    }
    if (trouble != nullptr) *trouble = why;
    return tl::unexpected<Error>(why.error);
  }

  [[nodiscard]] EngineTrouble Refusal(const HttpAnswer& answer) {
    const std::string at = base + ": ";
    if (answer.status == 401 || answer.status == 403) {
      return {false, false,
              Error{at + "the engine refuses us (" + std::to_string(answer.status) +
                    "); give --token-file FILE, or user:password@ in --engine"}};
    }
    std::string words = answer.body.substr(0, kShownOfAnswer);
    if (const Result<JsonNode> root = parser.Parse(answer.body); root && !root->GetText("error").empty()) {
      words = root->GetText("error").substr(0, kShownOfAnswer);
    }
    if (answer.status == 404) words = "no Prometheus API at this path; is a prefix missing in --engine?";
    return {SaysTooMuch(answer.status, words), answer.status == 503 || answer.status == 504,
            Error{at + "status " + std::to_string(answer.status) + ": " + Printable(Trim(words))}};
  }

  // The `data` of an answer with status "success".
  Result<JsonNode> Data(const std::string& body, EngineTrouble* trouble) {
    const Result<JsonNode> root = parser.Parse(body);
    if (!root) {
      const bool page = Trim(body).starts_with("<");
      const Error error{base + (page ? ": answers with a web page, not with Prometheus' JSON; is this the engine?"
                                     : ": half an answer or no JSON: " + Printable(body.substr(0, 40)))};
      if (trouble != nullptr) *trouble = {!page, false, error};
      return tl::unexpected<Error>(error);
    }
    const std::optional<JsonNode> data = root->Get("data");
    if (root->GetText("status") != "success" || !data) {
      const Error error{base + ": the answer is not that of Prometheus' API: " + Printable(body.substr(0, 40))};
      if (trouble != nullptr) *trouble = {false, false, error};
      return tl::unexpected<Error>(error);
    }
    return *data;
  }

  Result<std::vector<EngineSeries>> Series(const std::string& body, EngineTrouble* trouble) {
    const JsonNode data = TRY(Data(body, trouble));
    std::vector<EngineSeries> all;
    for (const JsonNode& node : data.GetItems("result")) ReadSeries(node, &all.emplace_back());
    return all;
  }
};

Engine::Engine(std::unique_ptr<Peer> peer) : peer_(std::move(peer)) {}
Engine::~Engine() = default;
Engine::Engine(Engine&& other) noexcept = default;

Result<Engine> Engine::Open(const EngineAddress& address) {
  const EngineUrl url = TRY(SplitUrl(address.url));
  auto peer = std::make_unique<Peer>();
  HttpLimits limits{kLongestEngineAnswer, true, address.ca_file};
  for (auto& http : peer->http) http = TRY(HttpPeer::Open(url.base, limits));
  peer->base = url.base;
  peer->prefix = url.prefix;
  peer->patience = address.patience;
  if (!url.user.empty()) peer->headers.emplace_back("Authorization", "Basic " + Base64(url.user));
  if (!address.token_file.empty()) {
    peer->headers.emplace_back("Authorization", "Bearer " + TRY(TokenIn(address.token_file)));
  }
  Engine engine(std::move(peer));
  engine.facts_.url = url.base + url.prefix;
  engine.facts_.kind = "unknown";
  // An engine that does not tell its build may still answer queries, so the query decides.
  TRY(engine.At("vector(1)", 0));
  const Result<std::string> asked = engine.peer_->Ask("/api/v1/status/buildinfo", "", nullptr);
  if (!asked) return engine;
  const Result<JsonNode> data = engine.peer_->Data(*asked, nullptr);
  if (!data) return engine;
  engine.facts_.version = data->GetText("version");
  // VictoriaMetrics tells a version of Prometheus that it resembles, and nothing of a revision.
  engine.facts_.kind = data->GetText("revision").empty() ? "victoriametrics" : "prometheus";
  return engine;
}

Result<std::vector<EngineSeries>> Engine::At(const std::string& expression, std::int64_t time, EngineTrouble* trouble) {
  const std::string form = "query=" + FormValue(expression) + (time > 0 ? "&time=" + std::to_string(time) : "");
  return peer_->Series(TRY(peer_->Ask("/api/v1/query", form, trouble)), trouble);
}

Result<std::string> Engine::RangeText(const std::string& expression, std::int64_t start, std::int64_t end,
                                      std::int64_t step, EngineTrouble* trouble) {
  return peer_->Ask(kRangePath, RangeForm({expression, start, end, step}), trouble);
}

Result<void> Engine::EachRange(const std::vector<RangeQuestion>& questions, EngineTrouble* trouble,
                               const TakeSeries& take) {
  std::array<std::future<Peer::Fetched>, kQuestionsAtOnce> on_the_way;
  const auto send = [&](std::size_t question) {
    if (question >= questions.size()) return;
    const std::size_t place = question % kQuestionsAtOnce;
    on_the_way[place] = std::async(std::launch::async, [this, place, form = RangeForm(questions[question])] {
      return peer_->Fetch(*peer_->http[place], kRangePath, form);
    });
  };
  for (std::size_t i = 0; i < kQuestionsAtOnce; ++i) send(i);
  EngineSeries series;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    Peer::Fetched fetched = on_the_way[i % kQuestionsAtOnce].get();
    const std::string body = TRY(peer_->BodyOf(std::move(fetched), trouble));
    send(i + kQuestionsAtOnce);
    const JsonNode data = TRY(peer_->Data(body, trouble));
    const std::optional<JsonNode> result = data.Get("result");
    if (!result) continue;
    result->ForEachItem([&](const JsonNode& node) {
      ReadSeries(node, &series);
      take(i, series);
    });
  }
  return {};
}

// A range ends at the moment of the query, which belongs to it. A millisecond earlier, a sample at `end` is left out
// and one at `start` is not.
Result<EngineAnswer> Engine::Samples(const std::string& selector, std::int64_t start, std::int64_t end,
                                     EngineTrouble* trouble) {
  const std::string form = "query=" + FormValue(selector + "[" + std::to_string(end - start) + "s]") +
                           "&time=" + std::to_string(end - 1) + ".999";
  EngineAnswer answer;
  answer.body = TRY(peer_->Ask("/api/v1/query", form, trouble));
  answer.data = TRY(peer_->Data(answer.body, trouble));
  return answer;
}

Result<std::vector<EngineSeries>> Engine::Range(const std::string& expression, std::int64_t start, std::int64_t end,
                                                std::int64_t step, EngineTrouble* trouble) {
  return peer_->Series(TRY(RangeText(expression, start, end, step, trouble)), trouble);
}

Result<std::int64_t> Engine::Now() {
  const std::string body = TRY(peer_->Ask("/api/v1/query", "query=time()&nocache=1", nullptr));
  const JsonNode data = TRY(peer_->Data(body, nullptr));
  const std::vector<JsonNode> pair = data.GetItems("result");  // of a scalar: time and value
  const ScaledNumber now = pair.size() == 2 ? ParseScaled(pair[1].Text(), 0) : ScaledNumber{};
  if (now.value > 0) return now.value;
  // VictoriaMetrics answers with a series.
  const std::vector<EngineSeries> series = TRY(peer_->Series(body, nullptr));
  if (series.size() != 1 || series[0].points.size() != 1)
    return Fail(facts_.url + ": the engine does not tell its time");
  return series[0].points[0].second / 1000;
}

void Engine::Stop() {
  for (const auto& http : peer_->http) http->Stop();
}

Result<std::vector<std::string>> Engine::MetricNames(const std::string& pattern, std::int64_t start, std::int64_t end) {
  const std::string form = "match[]=" + FormValue("{__name__=~\"" + pattern + "\"}") +
                           "&start=" + std::to_string(start) + "&end=" + std::to_string(end);
  const std::string body = TRY(peer_->Ask("/api/v1/label/__name__/values?" + form, "", nullptr));
  const JsonNode data = TRY(peer_->Data(body, nullptr));
  std::vector<std::string> names;
  for (const JsonNode& name : data.Items()) names.push_back(name.Text());
  return names;
}

}  // namespace idleburn
