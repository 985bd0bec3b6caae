#include <set>

#include "import/device_facts.h"
#include "import/formats.h"
#include "import/json_input.h"
#include "import/metric_readings.h"
#include "import/metric_table.h"
#include "import/printed_values.h"
#include "import/tool_readers.h"
#include "text/line_reader.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {

// AMD's rocm-smi. A document is an object of cards, and a card an object of keys made for people, such as "Average
// Graphics Package Power (W)". Keys differ between versions, so several keys may fill one field. Three tables say
// which keys fill which field, and which field is which signal.

namespace {

// Keys are in lower case, because ROCm 6.1 changed their case. If several keys mean one field, the first with a value
// counts.
struct TextField {
  std::string_view key;
  std::string RocmCard::*member;
};
constexpr TextField kTexts[] = {
    {"unique id", &RocmCard::unique_id},     {"serial number", &RocmCard::serial_number},
    {"pci bus", &RocmCard::bus_id},          {"card series", &RocmCard::series},
    {"device name", &RocmCard::series},      {"card model", &RocmCard::model},
    {"gfx version", &RocmCard::gfx_version},
};

// A numeric key, its field and its unit.
struct NumberField {
  std::string_view key;
  std::optional<std::int64_t> RocmCard::*member;
  Scale scale;
};
// The field whose absence makes time unobserved.
constexpr std::string_view kUse = "gpu use (%)";
constexpr NumberField kNumbers[] = {
    {kUse, &RocmCard::use, Scale::kPercentage},
    {"gpu memory use (%)", &RocmCard::memory_use, Scale::kPercentage},
    {"gpu memory read/write activity (%)", &RocmCard::memory_use, Scale::kPercentage},  // since ROCm 6.1
    {"average graphics package power (w)", &RocmCard::power, Scale::kWatt},
    {"current socket graphics package power (w)", &RocmCard::power, Scale::kWatt},  // Instinct MI300 and newer
    {"current graphics package power (w)", &RocmCard::power, Scale::kWatt},
    {"max graphics package power (w)", &RocmCard::max_power, Scale::kWatt},
    {"temperature (sensor edge) (c)", &RocmCard::edge, Scale::kCelsius},
    {"temperature (sensor junction) (c)", &RocmCard::junction, Scale::kCelsius},
    {"sclk clock speed:", &RocmCard::sclk, Scale::kMegahertz},
    {"vram total memory (b)", &RocmCard::vram_total, Scale::kByte},
    {"vram total used memory (b)", &RocmCard::vram_used, Scale::kByte},
    {"vis_vram total memory (b)", &RocmCard::vis_vram_total, Scale::kByte},
    {"vis_vram total used memory (b)", &RocmCard::vis_vram_used, Scale::kByte},
};

// A field, the signal it tells, and the counter's name in reports.
struct SignalField {
  Signal signal;
  std::optional<std::int64_t> RocmCard::*member;
  std::string_view counter;
};
constexpr SignalField kSignalFields[] = {
    {Signal::kUtilization, &RocmCard::use, "rocm_smi.GPU use (%)"},
    {Signal::kMemoryUtilization, &RocmCard::memory_use, "rocm_smi.GPU memory use (%)"},
    {Signal::kPower, &RocmCard::power, "rocm_smi.Graphics Package Power (W)"},
    {Signal::kPowerLimit, &RocmCard::max_power, "rocm_smi.Max Graphics Package Power (W)"},
    {Signal::kTemperature, &RocmCard::edge, "rocm_smi.Temperature (Sensor edge) (C)"},
    {Signal::kTemperature, &RocmCard::junction, "rocm_smi.Temperature (Sensor junction) (C)"},
    {Signal::kSmClock, &RocmCard::sclk, "rocm_smi.sclk clock speed"},
    {Signal::kMemoryUsed, &RocmCard::vram_used, "rocm_smi.VRAM Total Used Memory (B)"},
    {Signal::kMemoryTotal, &RocmCard::vram_total, "rocm_smi.VRAM Total Memory (B)"},
};

// True for "N/A", "N/A (Secondary die)", "Not supported on the given system": words behind the spelling do not
// matter. A name in brackets ("[AMD/ATI] Navi") is a value.
bool IsMissing(std::string_view text) {
  if (WhyUnavailable(text)) return true;
  const bool bracketed = !text.empty() && text.front() == '[';  // "[AMD/ATI] Navi" is a name
  for (std::size_t end = text.find(' '); end != std::string_view::npos && !bracketed; end = text.find(' ', end + 1)) {
    if (WhyUnavailable(text.substr(0, end))) return true;
  }
  return false;
}

// "300" for "(300Mhz)", as clocks are printed.
std::string_view WithoutUnit(std::string_view text) {
  constexpr std::string_view kUnit = "mhz";
  if (text.size() > 2 && text.front() == '(' && text.back() == ')') text = text.substr(1, text.size() - 2);
  if (text.size() > 3 && EqualsIgnoreCase(text.substr(text.size() - 3), kUnit)) text.remove_suffix(3);
  return text;
}

// Sets the field of a key. False if the key is of no known field. A placeholder ("0" as a serial number, a raw device
// id as a series) counts as no value.
bool AddField(const std::string& key, std::string_view text, RocmCard* card) {
  for (const TextField& field : kTexts) {
    if (key != field.key) continue;
    std::string& member = card->*field.member;
    const bool placeholder = (field.member == &RocmCard::serial_number && text == "0") ||
                             (field.member == &RocmCard::series && text.substr(0, 2) == "0x");
    if (!IsMissing(text) && !placeholder && member.empty()) member = text;
    return true;
  }
  for (const NumberField& field : kNumbers) {
    if (key != field.key) continue;
    const Reading reading = ReadScaled(WithoutUnit(text), field.scale);
    if (IsMissing(text) || reading.doubt) {
      card->missing.push_back({key, IsMissing(text) ? QualityId::kUnavailableValue : *reading.doubt});
    } else if (!(card->*field.member)) {
      card->*field.member = reading.value;
    }
    return true;
  }
  return false;
}

// True for "card0". Other members of the document are of the system.
bool IsCard(std::string_view name) {
  return name.size() > 4 && name.substr(0, 4) == "card" && ParseInteger(name.substr(4)).has_value();
}

// The unique id as ROCm's device lists write it: "GPU-" and 16 digits. Empty if the card has none.
std::string Uuid(const RocmCard& card) {
  std::string_view digits = card.unique_id;
  if (digits.substr(0, 2) != "0x" || digits.size() > 18) return {};
  digits.remove_prefix(2);
  return "GPU-" + std::string(16 - digits.size(), '0') + std::string(digits);
}

// How DeviceTable knows the card. The number behind "card" is its index.
DeviceKey Key(const RocmCard& card) {
  DeviceKey key;
  key.uuid = Uuid(card);
  key.bus_id = card.bus_id;
  key.index = static_cast<int>(std::clamp<std::int64_t>(*ParseInteger(card.card.substr(4)), 0, 4096));
  key.name = card.series;
  return key;
}

// Delivers the signals of a card, and counts its missing and unknown fields.
void AddCard(const RocmCard& card, Instant time, std::set<std::string>& unknown, Place place, ReadingWriter& writer,
             ImportTarget& out) {
  const DeviceId device = EnterDevice(Key(card), out, place);
  for (const SignalField& field : kSignalFields) {
    const std::optional<std::int64_t>& value = card.*field.member;
    // Edge temperature first, junction only where there is no edge: the first field that has a value claims the
    // signal.
    if (!value || !writer.Claim(device, field.signal, field.counter, field.counter)) continue;
    writer.Put(time, device, field.signal, {*value, std::nullopt}, place);
  }
  // A card without its utilization says so, with the reason.
  Unobserved why_no_use = Unobserved::kUnsupported;
  for (const RocmCard::Missing& field : card.missing) {
    out.quality.CountNamed(field.why, field.key, place);
    if (field.key == kUse) why_no_use = UnobservedReason(field.why);
  }
  if (!card.use) writer.PutUnavailable(time, device, Signal::kUtilization, why_no_use);
  for (const std::string& key : card.unknown) {
    if (unknown.size() < 1024 && unknown.insert(key).second) {
      out.quality.CountNamed(QualityId::kUnknownColumn, key, place);
    }
  }
}

// Whether a text has only warnings, which rocm-smi prints before its document. They are not counted.
bool OnlyWarnings(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = Trim(text.substr(0, text.find('\n')));
    if (!line.empty() && !line.starts_with("WARNING")) return false;
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  return true;
}

}  // namespace

Result<RocmReport> ParseRocmSmi(std::string_view json) {
  JsonParser parser;
  const JsonNode root = TRY(parser.Parse(json));
  RocmReport report;
  for (const auto& [name, content] : root.Members()) {
    if (name == "system") report.driver_version = content.GetText("Driver version");
    if (!IsCard(name)) continue;
    RocmCard& card = report.cards.emplace_back();
    card.card = name;
    for (const auto& [key, value] : content.Members()) {
      if (!AddField(Lower(Trim(key)), value.Text(), &card)) card.unknown.push_back(key);
    }
  }
  return report;
}

bool SniffRocmSmi(std::string_view head) {
  const std::size_t card = head.find("\"card");
  const std::size_t brace = head.find('{');
  if (brace == std::string_view::npos || card == std::string_view::npos || brace > card) return false;
  const std::string_view rest = head.substr(card + 1);
  return IsCard(rest.substr(0, rest.find('"')));
}

// A document is a scrape: the output carries no times, so scrape n lies n periods after --start. The second scrape
// shows that a period was assumed, which is counted once per card.
Result<void> ImportRocmSmi(ByteSource& in, const ImportOptions& options, ImportTarget& out) {
  const std::string text = TRY(ReadAll(in, kMaxJsonBytes));
  const Place place{&in.name(), 0};
  ReadingWriter writer(out);
  std::set<std::string> unknown;
  std::int64_t scrapes = 0;
  std::string_view rest = text;
  while (true) {
    const auto [before, json] = TakeJsonDocument(rest);
    if (!OnlyWarnings(before)) out.quality.Count(json.empty() ? QualityId::kTornRow : QualityId::kBadRow, place);
    if (json.empty()) break;
    const Result<RocmReport> report = ParseRocmSmi(json);
    if (!report || report->cards.empty()) {
      out.quality.Count(!report && rest.empty() ? QualityId::kTornRow : QualityId::kBadRow, place);
      continue;
    }
    const Instant time = AssumedTime(options, scrapes);
    for (const RocmCard& card : report->cards) AddCard(card, time, unknown, place, writer, out);
    if (scrapes == 0) out.quality.Count(QualityId::kNoTimestamp, place);
    if (++scrapes == 2) {
      out.quality.Count(QualityId::kPeriodEstimated, place, static_cast<std::int64_t>(report->cards.size()));
    }
  }
  if (scrapes > 0) return {};
  return Fail(in.name() + ": no card in this output of rocm-smi; record it with rocm-smi --showuse --showpower --json");
}

}  // namespace idleburn
