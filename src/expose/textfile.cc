#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "expose/exposition.h"
#include "expose/scrape_server.h"

namespace idleburn {

Result<void> WriteTextfile(const std::string& file, const Exposed& exposed) {
  const std::string part = file + "." + std::to_string(getpid());
  const auto failed = [&](int fd) {
    std::string message = "idleburn could not write " + file + ": " + std::strerror(errno);
    if (fd >= 0) close(fd);
    unlink(part.c_str());
    return Fail(std::move(message));
  };
  const int fd = open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0) return failed(fd);
  const std::string text = MetricText(exposed.families, MetricFormat::kPrometheus);
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return failed(fd);
    done += static_cast<std::size_t>(n);
  }
  // The collector runs as another user, whatever the mask of this one is.
  if (fchmod(fd, 0644) != 0 || fsync(fd) != 0) return failed(fd);
  close(fd);
  if (rename(part.c_str(), file.c_str()) != 0) return failed(-1);
  return {};
}

}  // namespace idleburn
