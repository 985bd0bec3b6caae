// The reading half of the nvidia-smi XML importer, and the one file that knows expat.
#include <expat.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "import/nvidia_smi_xml.h"

namespace idleburn {
namespace {

constexpr std::size_t kBlock = 1 << 16;
constexpr std::int64_t kMaxDocument = 16 << 20;  // a document of 16 GPUs is about 1 MiB
constexpr std::size_t kMaxDepth = 32;
constexpr std::size_t kMaxPath = 256;
constexpr std::size_t kMaxText = 64 << 10;  // of one value; command lines are the longest
constexpr std::size_t kMaxEntries = 200'000;

// Long lists that say nothing about the present.
constexpr std::array<std::string_view, 2> kSkipped = {"supported_clocks", "accounted_processes"};

std::string_view TrimAll(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// Builds a document out of expat's events.
class Builder {
 public:
  Builder(XML_Parser parser, SmiDocument* document)
      : parser_(parser), document_(document), record_(&document->leaves) {}

  // What is wrong with the document, if anything beyond its syntax is.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  // Bytes of the document, once its root was closed.
  [[nodiscard]] std::int64_t end() const { return end_; }

  void Start(std::string_view name, const char** attributes) {
    if (frames_.empty() && name != "nvidia_smi_log") return Refuse("its root is not <nvidia_smi_log>");
    if (frames_.size() >= kMaxDepth) return Refuse("elements are nested too deeply");
    frames_.push_back({path_.size(), record_, base_});
    leaf_ = true;
    text_.clear();
    if (skip_ == 0 && std::find(kSkipped.begin(), kSkipped.end(), name) != kSkipped.end()) skip_ = frames_.size();
    if (skip_ != 0 || frames_.size() == 1) return;
    if (!path_.empty()) path_ += '/';
    path_ += name;
    if (++entries_ > kMaxEntries) return Refuse("it holds too many values");
    OpenRecord(name, attributes);
  }

  void End() {
    if (!refusal_.empty()) return;  // expat still closes an empty element after it was stopped
    const Frame frame = frames_.back();
    frames_.pop_back();
    const bool value = leaf_ && skip_ == 0 && base_ < path_.size() && path_.size() - base_ <= kMaxPath;
    if (value) record_->Add(path_.substr(base_), TrimAll(text_));
    leaf_ = false;
    text_.clear();
    if (skip_ > frames_.size()) skip_ = 0;
    path_.resize(frame.path);
    record_ = frame.record;
    base_ = frame.base;
    if (!frames_.empty()) return;
    end_ = XML_GetCurrentByteIndex(parser_) + XML_GetCurrentByteCount(parser_);
    XML_StopParser(parser_, XML_TRUE);
  }

  void Text(std::string_view text) {
    if (!leaf_ || skip_ != 0 || !refusal_.empty()) return;
    if (text_.size() + text.size() > kMaxText) return Refuse("a value is longer than 64 KiB");
    text_ += text;
  }

  void Doctype(const char* system_id) {
    // nvsmi_device_v12.dtd
    const std::string_view dtd = system_id == nullptr ? "" : system_id;
    const std::size_t v = dtd.rfind("_v");
    if (v == std::string_view::npos || dtd.size() > kMaxPath) return;
    document_->dtd = dtd.substr(v + 1, dtd.find('.', v) - v - 1);
  }

  void Refuse(std::string why) {
    if (refusal_.empty()) refusal_ = std::move(why);
    XML_StopParser(parser_, XML_FALSE);
  }

 private:
  struct Frame {
    std::size_t path;
    Leaves* record;
    std::size_t base;
  };

  // Some elements begin a record of their own, whose leaves have paths below it.
  void OpenRecord(std::string_view name, const char** attributes) {
    if (record_ == &document_->leaves) {
      if (name != "gpu" || frames_.size() != 2) return;
      SmiGpu& gpu = document_->gpus.emplace_back();
      for (const char** a = attributes; *a != nullptr; a += 2) {
        if (std::strcmp(a[0], "id") == 0) gpu.id = std::string_view(a[1]).substr(0, kMaxPath);
      }
      record_ = &gpu.leaves;
    } else if (SmiGpu& gpu = document_->gpus.back(); record_ == &gpu.leaves && name == "process_info") {
      record_ = &gpu.processes.emplace_back();
    } else if (record_ == &gpu.leaves && name == "mig_device") {
      record_ = &gpu.mig_devices.emplace_back();
    } else {
      return;
    }
    base_ = path_.size() + 1;
  }

  XML_Parser parser_;
  SmiDocument* document_;
  std::vector<Frame> frames_;
  std::string path_;  // of the open elements below the root
  Leaves* record_;
  std::size_t base_ = 0;  // where the path within the record begins
  std::size_t skip_ = 0;  // depth of the list being skipped, or 0
  std::size_t entries_ = 0;
  bool leaf_ = false;  // nothing was nested in the innermost open element so far
  std::string text_;
  std::string refusal_;
  std::int64_t end_ = 0;
};

Builder& Of(void* data) { return *static_cast<Builder*>(data); }
void OnStart(void* data, const XML_Char* name, const XML_Char** attributes) { Of(data).Start(name, attributes); }
void OnEnd(void* data, const XML_Char* /*name*/) { Of(data).End(); }
void OnText(void* data, const XML_Char* text, int length) {
  Of(data).Text(std::string_view(text, static_cast<std::size_t>(length)));
}
void OnDoctype(void* data, const XML_Char* /*name*/, const XML_Char* system_id, const XML_Char* /*public_id*/,
               int /*has_internal_subset*/) {
  Of(data).Doctype(system_id);
}
// A report declares no entities; whoever does wants them expanded without end.
void OnEntity(void* data, const XML_Char* /*name*/, int /*is_parameter*/, const XML_Char* /*value*/, int /*length*/,
              const XML_Char* /*base*/, const XML_Char* /*system_id*/, const XML_Char* /*public_id*/,
              const XML_Char* /*notation*/) {
  Of(data).Refuse("it declares entities");
}

}  // namespace

class SmiXmlReader::Impl {
 public:
  Impl(ByteSource& in, DataQuality& quality) : in_(in), quality_(quality), parser_(XML_ParserCreate(nullptr)) {
    buffer_.reserve(2 * kBlock);
  }
  ~Impl() { XML_ParserFree(parser_); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Result<bool> Next(SmiDocument* document) {
    while (true) {
      const Result<bool> found = FindDocument();
      if (!found) return found;
      if (!*found) break;
      *document = SmiDocument();
      document->line = line_;
      const Result<bool> whole = Parse(document);
      if (!whole || *whole) {
        any_ = true;
        return whole;
      }
    }
    if (any_) return false;
    if (first_error_.empty()) first_error_ = in_.name() + ": holds no <nvidia_smi_log> document";
    return Fail(first_error_ + "; expected the output of nvidia-smi -q -x");
  }

 private:
  // Reads more into the buffer; false at the end of the input.
  Result<bool> Fill() {
    const std::size_t old = buffer_.size();
    buffer_.resize(old + kBlock);
    const Result<std::size_t> got = in_.Read(std::span(buffer_).subspan(old));
    buffer_.resize(old + (got ? *got : 0));
    if (!got) return tl::unexpected<Error>(got.error());
    return *got > 0;
  }

  void Drop(std::size_t n) {
    const auto stop = buffer_.begin() + static_cast<std::ptrdiff_t>(n);
    line_ += std::count(buffer_.begin(), stop, '\n');
    buffer_.erase(buffer_.begin(), stop);
  }

  // Moves to where the next document begins; false at the end. What lies between documents (a message of the
  // driver, the rest of a broken document) is counted once a stretch.
  Result<bool> FindDocument() {
    const std::string_view mark = broken_ ? "<?xml" : "<";
    bool junk = broken_;  // counted with the document
    while (true) {
      const std::string_view have(buffer_.data(), buffer_.size());
      const std::size_t at = have.find(mark);
      const std::size_t keep = std::min(have.size(), mark.size() - 1);
      const std::size_t before = at != std::string_view::npos ? at : have.size() - keep;
      if (!junk && !TrimAll(have.substr(0, before)).empty()) {
        junk = true;
        quality_.Count(QualityId::kBadRow, {&in_.name(), line_});
      }
      Drop(before);
      if (at != std::string_view::npos) {
        broken_ = false;
        return true;
      }
      const Result<bool> more = Fill();
      if (!more || !*more) return more;
    }
  }

  // Parses the document that the buffer begins with. False if it is broken, which was counted.
  Result<bool> Parse(SmiDocument* document) {
    XML_ParserReset(parser_, nullptr);
    Builder builder(parser_, document);
    XML_SetUserData(parser_, &builder);
    XML_SetElementHandler(parser_, OnStart, OnEnd);
    XML_SetCharacterDataHandler(parser_, OnText);
    XML_SetStartDoctypeDeclHandler(parser_, OnDoctype);
    XML_SetEntityDeclHandler(parser_, OnEntity);
    std::int64_t fed = 0;
    while (true) {
      const XML_Status status = XML_Parse(parser_, buffer_.data(), static_cast<int>(buffer_.size()), XML_FALSE);
      if (!builder.refusal().empty())
        return Fail(Where(document->line) + ": the document is refused: " + builder.refusal());
      if (status == XML_STATUS_SUSPENDED) {
        Drop(static_cast<std::size_t>(builder.end() - fed));
        return true;
      }
      if (status == XML_STATUS_ERROR) {
        const std::int64_t progress = fed == 0 ? 1 : 0;  // never look at the same beginning twice
        BreakOff(std::max<std::int64_t>(XML_GetCurrentByteIndex(parser_) - fed, progress));
        return false;
      }
      fed += static_cast<std::int64_t>(buffer_.size());
      if (fed > kMaxDocument) return Fail(Where(document->line) + ": the document is longer than 16 MiB");
      Drop(buffer_.size());
      const Result<bool> more = Fill();
      if (!more) return more;
      if (!*more) {
        quality_.Count(QualityId::kTornRow, {&in_.name(), document->line});
        Note(Where(document->line) + ": the document breaks off");
        return false;
      }
    }
  }

  void BreakOff(std::int64_t at) {
    Drop(std::min(static_cast<std::size_t>(at), buffer_.size()));
    Note(Where(line_) + ": not XML: " + XML_ErrorString(XML_GetErrorCode(parser_)));
    quality_.Count(QualityId::kBadRow, {&in_.name(), line_});
    broken_ = true;
  }

  void Note(std::string error) {
    if (first_error_.empty()) first_error_ = std::move(error);
  }
  [[nodiscard]] std::string Where(std::int64_t line) const { return in_.name() + ":" + std::to_string(line); }

  ByteSource& in_;
  DataQuality& quality_;
  XML_Parser parser_;
  std::vector<char> buffer_;  // read and not yet parsed
  std::int64_t line_ = 1;     // of the first byte of the buffer
  bool broken_ = false;       // the last document was not XML: look for a whole new beginning
  bool any_ = false;
  std::string first_error_;
};

SmiXmlReader::SmiXmlReader(ByteSource& in, DataQuality& quality) : impl_(std::make_unique<Impl>(in, quality)) {}
SmiXmlReader::~SmiXmlReader() = default;
Result<bool> SmiXmlReader::Next(SmiDocument* document) { return impl_->Next(document); }

}  // namespace idleburn
