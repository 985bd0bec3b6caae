#include "config/read_input.h"

#include "os/input_file.h"
#include "text/line_reader.h"

namespace idleburn {

Result<std::string> ReadInput(const std::string& path, std::size_t most) {
  const std::unique_ptr<ByteSource> in = TRY(OpenInput(path));
  return ReadAll(*in, most);
}

}  // namespace idleburn
