#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <profile/xplane.pb.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "profile/profile_builder.h"
#include "profile/profile_importers.h"
#include "profile/xla_rows.h"

// Reads *.xplane.pb, the full profile of TensorFlow and JAX.
//
// Such a file may have gigabytes, and protobuf's own parser would hold all of it as objects several times that size. So
// the top level is read by hand, field by field, and protobuf parses one plane at a time. Only the fields of XSpace
// that are needed have a name here.

namespace idleburn {
namespace {

namespace io = google::protobuf::io;

// A tag of the wire format: the field number and how its value is encoded. These are the fields of XSpace that are
// read.
constexpr std::uint32_t Delimited(std::uint32_t field) { return field << 3U | 2U; }
constexpr std::uint32_t kPlanesField = Delimited(1);
constexpr std::uint32_t kErrorsField = Delimited(2);
constexpr std::uint32_t kWarningsField = Delimited(3);

constexpr std::int64_t kPicos = 1000;  // per nanosecond

// Feeds protobuf from a source and keeps the source's error, which protobuf would reduce to "no more bytes".
class SourceStream final : public io::CopyingInputStream {
 public:
  explicit SourceStream(ByteSource& in) : in_(in) {}
  int Read(void* buffer, int size) override {
    const Result<std::size_t> got = in_.Read(std::span(static_cast<char*>(buffer), static_cast<std::size_t>(size)));
    if (got) return static_cast<int>(*got);
    error_ = got.error();
    return -1;
  }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  ByteSource& in_;
  std::optional<Error> error_;
};

// The stats of an event or a plane: values by id, and the plane names the ids. `plane` and `stats` must outlive it.
class Stats {
 public:
  Stats(const xplane::XPlane& plane, const google::protobuf::RepeatedPtrField<xplane::XStat>& stats)
      : plane_(plane), stats_(stats) {}

  // A stat as an integer. Some versions write numbers as texts. Absent without the stat.
  [[nodiscard]] std::optional<std::int64_t> Integer(std::int64_t id) const {
    const xplane::XStat* stat = Find(id);
    if (stat == nullptr) return std::nullopt;
    if (stat->has_int64_value()) return stat->int64_value();
    if (stat->has_uint64_value()) return static_cast<std::int64_t>(stat->uint64_value());
    return LeadingNumber(TextOf(*stat));
  }
  // A stat as a text. Empty without the stat.
  [[nodiscard]] std::string_view Text(std::int64_t id) const {
    const xplane::XStat* stat = Find(id);
    return stat == nullptr ? std::string_view() : TextOf(*stat);
  }

 private:
  // `id` 0: the plane has no stat of that name.
  [[nodiscard]] const xplane::XStat* Find(std::int64_t id) const {
    if (id == 0) return nullptr;
    const auto at =
        std::find_if(stats_.begin(), stats_.end(), [id](const xplane::XStat& s) { return s.metadata_id() == id; });
    return at == stats_.end() ? nullptr : &*at;
  }
  // A text that occurs often is stored once, as the name of another stat, and referred to.
  [[nodiscard]] std::string_view TextOf(const xplane::XStat& stat) const {
    if (!stat.has_ref_value()) return stat.str_value();
    const auto name = plane_.stat_metadata().find(static_cast<std::int64_t>(stat.ref_value()));
    return name == plane_.stat_metadata().end() ? std::string_view() : name->second.name();
  }

  const xplane::XPlane& plane_;
  const google::protobuf::RepeatedPtrField<xplane::XStat>& stats_;
};

// Ids of the stats that are read. Each plane numbers its stats anew, so they are found once for each plane. 0: the
// plane has none.
struct StatIds {
  explicit StatIds(const xplane::XPlane& plane) {
    for (const auto& [id, stat] : plane.stat_metadata()) {
      if (stat.name() == "correlation_id") correlation = id;
      if (stat.name() == "step_num") step = id;
      if (stat.name() == "memcpy_details") memcpy = id;
      if (stat.name() == "memset_details" || stat.name() == "Memset_details") memset = id;
      if (stat.name() == "device_type_string") model = id;
      if (stat.name() == "memory_size") memory = id;
    }
  }
  std::int64_t correlation = 0;
  std::int64_t step = 0;
  std::int64_t memcpy = 0;
  std::int64_t memset = 0;
  std::int64_t model = 0;
  std::int64_t memory = 0;
};

// Reads a profile plane by plane, so that only one plane is in memory. A file has one plane for each device and one
// or a few for the host.
class XplaneReader {
 public:
  XplaneReader(ByteSource& in, DataQuality& quality)
      : in_(in), quality_(quality), rows_(in.name(), builder_, quality) {}

  Result<Profile> Read();

 private:
  // Reads the top level, field by field. Protobuf alone would read the whole file into memory.
  Result<void> ReadSpace(io::CodedInputStream& space);
  // Reads one plane and adds its events.
  Result<void> ReadPlane(io::CodedInputStream& space);
  // Counts an error or warning of the profiler. False if the field is damaged.
  bool ReadWarning(io::CodedInputStream& space);
  void AddPlane(const xplane::XPlane& plane);
  void AddLine(const xplane::XPlane& plane, const xplane::XLine& line, const StatIds& ids);
  // Absent, and counted, if an event has no time.
  std::optional<Interval> ReadRange(const xplane::XLine& line, const xplane::XEvent& event);

  ByteSource& in_;
  DataQuality& quality_;
  ProfileBuilder builder_;
  XlaRows rows_;
};

// An error of the source comes before that of the parser: a disk that fails is not a damaged file.
Result<Profile> XplaneReader::Read() {
  SourceStream source(in_);
  io::CopyingInputStreamAdaptor adaptor(&source);
  io::CodedInputStream space(&adaptor);
  space.SetTotalBytesLimit(std::numeric_limits<int>::max());
  const Result<void> read = ReadSpace(space);
  if (source.error()) return tl::unexpected<Error>(*source.error());
  TRY(read);
  rows_.Finish();
  quality_.Count(QualityId::kTruncatedInput, {&in_.name()}, in_.truncated() ? 1 : 0);
  return builder_.Build();
}

Result<void> XplaneReader::ReadSpace(io::CodedInputStream& space) {
  const std::string broken = in_.name() + ": the profile is damaged or cut off at byte ";
  while (true) {
    const int at = space.CurrentPosition();
    const std::uint32_t field = space.ReadTag();
    if (field == 0 && space.ConsumedEntireMessage()) return {};
    bool good = field != 0;
    if (field == kPlanesField) {
      TRY(ReadPlane(space));
    } else if (field == kErrorsField || field == kWarningsField) {
      good = ReadWarning(space);
    } else if ((field & 7U) == 2) {
      std::uint32_t size = 0;
      good = space.ReadVarint32(&size) && space.Skip(static_cast<int>(std::min<std::uint32_t>(size, INT32_MAX)));
    } else {
      good = false;  // XSpace has nothing but such fields
    }
    if (!good) return Fail(broken + std::to_string(at) + "; copy it again or record it again");
  }
}

// The arena frees all messages of the plane at once.
Result<void> XplaneReader::ReadPlane(io::CodedInputStream& space) {
  const int at = space.CurrentPosition();
  google::protobuf::Arena arena;
  auto* const plane = google::protobuf::Arena::CreateMessage<xplane::XPlane>(&arena);
  std::uint32_t size = 0;
  const bool sized = space.ReadVarint32(&size) && size <= INT32_MAX;
  const auto limit = space.PushLimit(sized ? static_cast<int>(size) : 0);
  const bool whole = sized && plane->MergeFromCodedStream(&space) && space.BytesUntilLimit() == 0;
  space.PopLimit(limit);
  if (!whole) {
    return Fail(in_.name() + ": the profile is damaged or cut off in the plane at byte " + std::to_string(at) +
                "; copy it again or record it again");
  }
  AddPlane(*plane);
  return {};
}

// A warning may name a host, so only the fact that events were dropped is kept.
bool XplaneReader::ReadWarning(io::CodedInputStream& space) {
  std::uint32_t size = 0;
  std::string words;
  if (!space.ReadVarint32(&size) || size > INT32_MAX || !space.ReadString(&words, static_cast<int>(size))) return false;
  const bool dropped = words.find("ropped") != std::string::npos;
  quality_.CountNamed(QualityId::kProfilerWarning, dropped ? "dropped" : "other", {&in_.name()});
  builder_.header().events_missing |= dropped;
  return true;
}

// A plane of a GPU also describes the device.
void XplaneReader::AddPlane(const xplane::XPlane& plane) {
  const StatIds ids(plane);
  if (const std::optional<std::int64_t> number = XlaDevice(plane.name())) {
    const Stats stats(plane, plane.stats());
    ProfiledDevice& device = builder_.Device(*number);
    device.model = stats.Text(ids.model);
    device.memory_bytes = stats.Integer(ids.memory);
    builder_.Watch(*number);
  }
  for (const xplane::XLine& line : plane.lines()) AddLine(plane, line, ids);
}

// Adds the events of a line. Names and stats are ids that each plane defines anew, so they are resolved here and passed
// on as texts.
void XplaneReader::AddLine(const xplane::XPlane& plane, const xplane::XLine& line, const StatIds& ids) {
  const XlaLine known = rows_.FindLine(plane.name(), line.name(), std::to_string(line.id()));
  builder_.header().events_total += line.events_size();
  for (const xplane::XEvent& event : line.events()) {
    const std::optional<Interval> range = ReadRange(line, event);
    if (!range) continue;
    const auto name = plane.event_metadata().find(event.metadata_id());
    const Stats stats(plane, event.stats());
    XlaEvent row;
    if (name != plane.event_metadata().end()) row.name = name->second.name();
    row.at = *range;
    row.correlation = stats.Integer(ids.correlation);
    row.step = stats.Integer(ids.step);
    row.details = stats.Text(row.name == "Memset" ? ids.memset : ids.memcpy);
    rows_.Add(known, row);
  }
}

// Times are picoseconds from the line's start. Whole nanoseconds are kept, and losing a part of one is counted. Sums
// are checked first, because offset and duration together could overflow.
std::optional<Interval> XplaneReader::ReadRange(const xplane::XLine& line, const xplane::XEvent& event) {
  const Place place{&in_.name()};
  constexpr std::int64_t kFarthest = std::int64_t{1} << 61;
  if (event.has_num_occurrences()) {
    rows_.CountUnknown("events without times");
    return std::nullopt;
  }
  // Halves are compared, because the sum of two times may itself overflow.
  const bool sums = std::abs(event.offset_ps() / 2) < kFarthest && std::abs(event.duration_ps() / 2) < kFarthest &&
                    std::abs(line.timestamp_ns() / 2) < kFarthest;
  if (!sums) {
    quality_.Count(QualityId::kBadRow, place);
    return std::nullopt;
  }
  const std::int64_t end_ps = event.offset_ps() + event.duration_ps();
  if (event.offset_ps() % kPicos != 0 || end_ps % kPicos != 0) quality_.Count(QualityId::kRoundedTime, place);
  return EventRange(line.timestamp_ns() + event.offset_ps() / kPicos, line.timestamp_ns() + end_ps / kPicos, quality_,
                    place);
}

}  // namespace

// Recognizes the first plane of an XSpace: its size, perhaps its number, and a known plane name. Protobuf has no
// signature, so the name is the evidence.
bool SniffXplane(std::string_view head) {
  const auto skip_varint = [&head] {
    while (!head.empty() && (static_cast<unsigned char>(head.front()) & 0x80U) != 0) head.remove_prefix(1);
    if (!head.empty()) head.remove_prefix(1);
  };
  const auto starts = [&head](char c) { return !head.empty() && head.front() == c; };
  if (!starts('\x0A')) return false;
  head.remove_prefix(1);
  skip_varint();
  if (starts('\x08')) {  // XPlane.id
    head.remove_prefix(1);
    skip_varint();
  }
  return starts('\x12') && head.size() > 2 && FindXlaPlane(head.substr(2)).has_value();
}

Result<Profile> ReadXplane(ByteSource& in, DataQuality& quality) { return XplaneReader(in, quality).Read(); }

}  // namespace idleburn
