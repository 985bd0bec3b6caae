#include "cli/read_input.h"

#include "os/input_file.h"
#include "text/line_reader.h"

namespace idleburn {

Result<std::string> ReadInput(const std::string& path, std::size_t most) {
  const Result<std::unique_ptr<ByteSource>> in = OpenInput(path);
  if (!in) return tl::unexpected<Error>(in.error());
  return ReadAll(**in, most);
}

}  // namespace idleburn
