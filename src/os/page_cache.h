#pragma once

#include <cstdint>
#include <optional>

namespace idleburn {

// The page cache of a range of an open file. Ranges are of bytes; pages that they touch count whole.

// Drops what of it is cached and not to be written first; a file system that is memory keeps it. Writes nothing.
void DropFromCache(int fd, std::int64_t from, std::int64_t bytes);

// How many of its bytes are cached; absent where the kernel does not tell, which it does only for files that we own or
// may write.
std::optional<std::int64_t> CachedBytes(int fd, std::int64_t from, std::int64_t bytes);

// True for file systems that hold their files in memory, so that nothing of them can be dropped.
bool IsInMemory(int fd);

}  // namespace idleburn
