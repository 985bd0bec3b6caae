// The first byte says what the rest is: a whole file, or the payload of a frame, which gets the checksum that it lacks
// most of the time.
#include "import/formats.h"
#include "import_fuzz.h"
#include "telemetry/recording.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(data + 1, data + size);
  std::string file = text;
  if (data[0] % 2 == 0) {
    file = idleburn::EncodeHeader(idleburn::kRecordingMagic, {std::string(16, 'f'), idleburn::Instant()}) +
           idleburn::EncodeFrame(idleburn::FrameType::kChunk, text);
  }
  return idleburn::FuzzImport(idleburn::SniffRecording, idleburn::ImportRecording,
                              reinterpret_cast<const unsigned char*>(file.data()), file.size());
}
