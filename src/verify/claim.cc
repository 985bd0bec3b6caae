#include "verify/claim.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "text/json.h"
#include "text/strings.h"
#include "text/time_zone.h"

// Writes and reads claims as files. The hash of a claim must be the same in every version of the program and in jq, so
// the hashed text is canonical: keys sorted, no blanks, the hash itself left out. The text that people read keeps the
// order of Document.
//
// Reading is stricter than elsewhere. A claim decides verdicts, and a key that this version ignores may be the one that
// limits them. So an unknown key is an error. New keys are written only if they differ from their default: older claims
// keep their hash, and an older program refuses only those claims that it would misread.

namespace idleburn {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSchema = "idleburn.claim/1";
// Tells a claim of another version from a file that is no claim at all.
constexpr std::string_view kAnySchema = "idleburn.claim/";
// How much of a foreign schema an error message quotes.
constexpr std::size_t kSchemaShown = 30;
// The words of the file, in the order of their enumerations. They are part of the format and never change.
constexpr std::array<std::string_view, 2> kDesigns = {"runs", "switchback"};
constexpr std::array<std::string_view, 2> kModels = {"ratio", "linear"};
constexpr std::array<std::string_view, 2> kStops = {"fixed", "sequential"};
constexpr std::array<std::string_view, 3> kChoices = {"unknown", "all", "worst"};

template <typename Enum, std::size_t kCount>
std::string_view NameIn(const std::array<std::string_view, kCount>& names, Enum value) {
  return names[static_cast<std::size_t>(value)];
}

// An exact decimal as text: a JSON number would be read as a double. Null if no rate is claimed.
Json MoneyJson(const std::optional<Money>& money) { return money ? Json(FormatExact(*money)) : Json(nullptr); }

// The document without its hash. Keys that were added later are written only if they differ from their default, so
// that the hash of an older claim stays the same.
Json Document(const Claim& claim) {
  Json json;
  json["schema"] = kSchema;
  json["written"] = FormatRfc3339(claim.written);
  json["boundary"] = Printable(claim.boundary);
  json["unit"] = NameIn(kWorkUnitNames, claim.unit);
  json["measure"] = Printable(claim.measure);
  json["changed_factor"] = Printable(claim.changed_factor);
  json["factors"] = Json::object();
  for (const auto& [key, value] : claim.factors) json["factors"][Printable(key)] = Printable(value);
  json["baseline"] = Json::array();
  for (const Claim::BaselineRun& run : claim.baseline) {
    json["baseline"].push_back({{"name", Printable(run.name)}, {"sha256", run.sha256}});
  }
  if (claim.choice != BaselineChoice::kUnknown) json["baseline_choice"] = NameIn(kChoices, claim.choice);
  json["design"] = NameIn(kDesigns, claim.design);
  json["model"] = NameIn(kModels, claim.model);
  json["level"] = claim.level;
  json["smallest_effect"] = claim.smallest_effect;
  json["stop"] = NameIn(kStops, claim.stop);
  json["predicted"] = claim.predicted ? Json(*claim.predicted) : Json(nullptr);
  json["rate_before"] = MoneyJson(claim.rate_before);
  json["rate_after"] = MoneyJson(claim.rate_after);
  if (claim.currency != "USD") json["currency"] = claim.currency;
  json["cashable"] = claim.cashable;
  if (claim.ids) PutIds(json, *claim.ids);
  return json;
}

// The text that is hashed: sorted keys, no blanks. Parsing into the sorting kind of JSON sorts them.
std::string Canonical(const Json& json) { return JsonLine(nlohmann::json::parse(JsonLine(json))); }

// Takes the members of a claim one by one and keeps the first error. A claim decides verdicts, so a file with an
// unknown key is refused: it may say something that this version would ignore.
class Members {
 public:
  Members(const Json& json, const std::string& file) : json_(json), file_(file) {}

  std::string Text(const char* key) {
    const Json* value = Find(key);
    if (value == nullptr) return {};
    if (!value->is_string()) return Refuse<std::string>(key, "is not a text");
    return value->get<std::string>();
  }
  // A prediction may be null or negative. A level or a smallest effect may be neither.
  std::optional<double> Fraction(const char* key, bool may_be_null) {
    const Json* value = Find(key);
    if (value == nullptr || (may_be_null && value->is_null())) return std::nullopt;
    if (!value->is_number() || value->get<double>() >= 1 || value->get<double>() <= (may_be_null ? -1e9 : -1e-300)) {
      return Refuse<std::optional<double>>(key, "is not a fraction below 1");
    }
    return value->get<double>();
  }
  bool Switch(const char* key) {
    const Json* value = Find(key);
    if (value != nullptr && !value->is_boolean()) return Refuse<bool>(key, "is neither true nor false");
    return value != nullptr && value->get<bool>();
  }
  template <typename Enum, std::size_t kCount>
  Enum Word(const char* key, const std::array<std::string_view, kCount>& names) {
    const std::string text = Text(key);
    const auto found = std::find(names.begin(), names.end(), text);
    if (found == names.end()) return Refuse<Enum>(key, "is not one of the allowed words");
    return static_cast<Enum>(found - names.begin());
  }
  [[nodiscard]] bool Has(const char* key) const { return json_.is_object() && json_.contains(key); }
  std::optional<Money> Price(const char* key) {
    const Json* value = Find(key);
    if (value == nullptr || value->is_null()) return std::nullopt;
    const Result<Money> money = value->is_string() ? Money::Parse(value->get<std::string>()) : Fail("");
    if (!money || money->nano() < 0) return Refuse<std::optional<Money>>(key, "is not a price");
    return *money;
  }
  // An object of texts.
  StaticFactors Factors(const char* key) {
    StaticFactors factors;
    const Json* value = Find(key);
    if (value == nullptr) return factors;
    if (!value->is_object()) return Refuse<StaticFactors>(key, "is not an object");
    for (const auto& [name, text] : value->items()) {
      if (!text.is_string()) return Refuse<StaticFactors>(key, "holds a value that is not a text");
      factors[name] = text.get<std::string>();
    }
    return factors;
  }
  // Each member may be absent or null: the environment of a claim may tell nothing.
  RunIds Ids(const char* key) {
    RunIds ids;
    const Json* value = Find(key);
    if (value == nullptr) return ids;
    if (!value->is_object()) return Refuse<RunIds>(key, "is not an object");
    for (const auto& [name, id] : kIdKeys) {
      if (const Json told = value->value(name, Json()); told.is_string()) ids.*id = told.get<std::string>();
    }
    for (const Json& named : value->value("named", Json::array())) {
      Members entry(named, file_);
      const std::string name = entry.Text("name");
      ids.named[name] = entry.Text("value");
      if (const Result<void> whole = entry.End(); !whole) error_ = error_.empty() ? whole.error().message : error_;
    }
    return ids;
  }
  std::vector<Claim::BaselineRun> Baseline(const char* key) {
    std::vector<Claim::BaselineRun> runs;
    const Json* value = Find(key);
    if (value == nullptr) return runs;
    if (!value->is_array()) return Refuse<std::vector<Claim::BaselineRun>>(key, "is not a list");
    for (const Json& item : *value) {
      Members run(item, file_);
      runs.push_back({run.Text("name"), run.Text("sha256")});
      if (const Result<void> whole = run.End(); !whole) error_ = error_.empty() ? whole.error().message : error_;
    }
    return runs;
  }

  // Fails if a member was wrong, or if the object has members that nobody asked for.
  [[nodiscard]] Result<void> End() const {
    if (!error_.empty()) return Fail(error_);
    if (json_.is_object() && json_.size() > known_) {
      return Fail(file_ + ": not a claim of " + std::string(kSchema) + ": it has keys that a claim does not have");
    }
    return {};
  }

 private:
  // Counts the members that were found, so that End can tell whether there are others.
  const Json* Find(const char* key) {
    if (!json_.is_object() || !json_.contains(key)) {
      return Refuse<const Json*>(key, "is missing");
    }
    ++known_;
    return &json_.at(key);
  }
  template <typename T>
  T Refuse(const char* key, const char* what) {
    if (error_.empty()) {
      error_ = file_ + ": not a claim of " + std::string(kSchema) + ": '" + key + "' " + what +
               "; write claims with idleburn claim";
    }
    return T{};
  }

  // The object that is read. It must outlive the reader.
  const Json& json_;
  const std::string& file_;
  std::size_t known_ = 0;
  std::string error_;
};

}  // namespace

std::string HashedText(const Claim& claim) { return Canonical(Document(claim)); }

std::string ClaimText(const Claim& claim) {
  Json json = Document(claim);
  json["sha256"] = claim.sha256;
  return JsonDocument(json);
}

Result<ClaimDocument> ParseClaim(std::string_view text, const std::string& file) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return Fail(file + ": not a JSON object; a claim is a file that idleburn claim wrote");
  Members members(json, file);
  ClaimDocument document;
  Claim& claim = document.claim;
  const std::string schema = members.Text("schema");
  if (schema != kSchema && schema.starts_with(kAnySchema)) {
    return Fail(file + ": is a claim of " + schema.substr(0, kSchemaShown) + ", this idleburn knows " +
                std::string(kSchema) + "; judge it with the idleburn that wrote it");
  }
  const Result<Instant> written = ParseRfc3339(members.Text("written"));
  claim.boundary = members.Text("boundary");
  claim.unit = members.Word<WorkUnit>("unit", kWorkUnitNames);
  claim.measure = members.Text("measure");
  claim.changed_factor = members.Text("changed_factor");
  claim.factors = members.Factors("factors");
  claim.baseline = members.Baseline("baseline");
  if (members.Has("baseline_choice")) {
    claim.choice = members.Word<BaselineChoice>("baseline_choice", kChoices);
  }
  claim.design = members.Word<ClaimDesign>("design", kDesigns);
  claim.model = members.Word<BaselineModel>("model", kModels);
  claim.level = members.Fraction("level", false).value_or(0);
  claim.smallest_effect = members.Fraction("smallest_effect", false).value_or(0);
  claim.stop = members.Word<StopRule>("stop", kStops);
  claim.predicted = members.Fraction("predicted", true);
  claim.rate_before = members.Price("rate_before");
  claim.rate_after = members.Price("rate_after");
  if (members.Has("currency")) claim.currency = members.Text("currency");
  claim.cashable = members.Switch("cashable");
  if (members.Has("ids")) claim.ids = members.Ids("ids");
  claim.sha256 = members.Text("sha256");
  TRY(members.End());
  if (schema != kSchema || !written || claim.level < 0.5) {
    return Fail(file + ": not a claim of " + std::string(kSchema) +
                ": its schema, its date or its level is not one; write claims with idleburn claim");
  }
  claim.written = *written;
  claim.id = claim.sha256.substr(0, kClaimIdSize);
  json.erase("sha256");
  document.hashed = Canonical(json);
  return document;
}

}  // namespace idleburn
