#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "telemetry/column_codec.h"
#include "telemetry/device.h"
#include "telemetry/record_batch.h"

namespace idleburn {

// Every field of every device of a table, for ChunkEncoder. At most kMostDevices devices.
std::string EncodeDevices(const DeviceTable& devices);
inline constexpr std::size_t kMostDevices = 16384;

// Turns records into the payload of a frame: a column a quantity, the devices of a node side by side in it.
class ChunkEncoder {
 public:
  // `devices`: of EncodeDevices, or empty where they are the same as in the frame before. At most kMostRecords records.
  std::string Encode(std::uint64_t number, const RecordBatch& batch, std::string_view devices, CodingEffort effort);

 private:
  // The rows of one device or one host scope, as positions in the batch.
  struct Stream {
    std::uint32_t id = 0;
    std::vector<std::uint32_t> rows;
  };
  template <typename Row>
  void PutRows(const std::vector<Row>& rows, const std::vector<Stream>& streams, std::string& out);
  template <typename Row>
  void PutTimes(const std::vector<Row>& rows, const std::vector<Stream>& streams, std::string& out);
  template <typename Row, typename Read>
  void PutColumn(const std::vector<Row>& rows, const std::vector<Stream>& streams, std::uint32_t signal, Read read,
                 std::string& out);

  ColumnEncoder columns_;
  CodingEffort effort_ = CodingEffort::kSmallest;
  std::vector<std::int64_t> column_;
};

}  // namespace idleburn
