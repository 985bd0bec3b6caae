#pragma once

#include <cstdio>

namespace idleburn {

// An unlinked file for reading and writing, in $TMPDIR or else /tmp; the caller closes it. nullptr if the folder
// cannot be written (errno says why). std::tmpfile would not look at TMPDIR.
std::FILE* OpenTemporaryFile();

}  // namespace idleburn
