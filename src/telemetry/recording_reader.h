#pragma once

#include <cstdint>

#include "base/byte_source.h"
#include "base/result.h"
#include "telemetry/data_quality.h"
#include "telemetry/device.h"
#include "telemetry/live_sink.h"
#include "telemetry/recording_format.h"

namespace idleburn {

// What was read of a recording.
struct RecordingSummary {
  RecordingHeader header;
  bool closed = false;         // its recorder ended in order; else it runs still, or was killed
  bool being_written = false;  // not closed, and its recorder lives
  bool start_missing = false;  // its first chunk is: it began at header.start
  std::uint64_t chunks = 0;    // sealed ones
  std::uint64_t records = 0;   // of all kinds, those of the journal included
};

// Gives a recording back: every record, in the order in which it was recorded. Devices are entered in `devices`, and
// samples come with their numbers there. Of a recording that was not closed the open chunk comes from the journal
// beside it, in.name() + ".journal"; it may be read while it is written. What is damaged or cut off is left out and
// counted; so is a chunk whose number no chunk has, and an end that is missing though nobody writes the file. A copy of
// a recording that is being written is taken for one whose recorder died. Memory is that of one chunk. Fails if the
// file is no recording, or of a newer version.
Result<RecordingSummary> ReadRecording(ByteSource& in, DeviceTable& devices, DataQuality& quality, LiveSink& sink);

// True if the first bytes of an input are those of a recording.
bool IsRecording(std::string_view head);

}  // namespace idleburn
