#include "measure/nvml_gpu.h"

#include <gtest/gtest.h>

#include <cstring>

namespace idleburn {

namespace {

// Writes records as a driver does: `length` bytes each, of which the last `untouched` of every record are left alone.
void Write(ProcessRoom& room, std::uint32_t count, std::size_t length, std::size_t untouched = 0) {
  auto* const bytes = reinterpret_cast<unsigned char*>(room.Address());
  for (std::uint32_t i = 0; i < count; ++i) {
    unsigned char record[32] = {};  // protected memory is 0 where nothing is protected
    const nvml::ProcessInfo process = {1000 + i, std::uint64_t{i} << 30, nvml::kNone32, nvml::kNone32};
    std::memcpy(record, &process, sizeof process);
    std::memcpy(bytes + i * length, record, length - untouched);
  }
}

TEST(ProcessRoom, RecordsOfEitherLengthAreReadAsTheyWereWritten) {
  for (const std::size_t length : {24U, 32U}) {
    for (std::uint32_t entries = 1; entries <= 64; ++entries) {
      for (std::uint32_t count = 0; count <= entries; ++count) {
        for (const std::size_t untouched : {0U, 8U}) {
          ProcessRoom room(entries);
          Write(room, count, length, untouched);
          const auto list = room.Read(count);
          ASSERT_TRUE(list.has_value()) << length << " " << count << " of " << entries;
          ASSERT_EQ(list->size(), count);
          for (std::uint32_t i = 0; i < count; ++i) {
            EXPECT_EQ((*list)[i].pid, 1000 + i) << length << " " << count;
            EXPECT_EQ((*list)[i].used_memory, std::uint64_t{i} << 30);
          }
        }
      }
    }
  }
}

TEST(ProcessRoom, WhatFitsNoLengthIsNoList) {
  ProcessRoom room(16);
  Write(room, 5, 24);
  EXPECT_FALSE(room.Read(7).has_value());   // fewer than it says
  EXPECT_FALSE(room.Read(3).has_value());   // more than it says
  EXPECT_FALSE(room.Read(17).has_value());  // more than there is room for
  ProcessRoom longer(16);
  Write(longer, 4, 28);
  EXPECT_FALSE(longer.Read(4).has_value());
  EXPECT_FALSE(ProcessRoom(16).Read(2).has_value());  // nothing was written
}

}  // namespace

}  // namespace idleburn
