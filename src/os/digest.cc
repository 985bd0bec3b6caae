#include "os/digest.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/random.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/result.h"

namespace idleburn {

std::uint32_t Crc32(std::string_view bytes, std::uint32_t before) {
  return static_cast<std::uint32_t>(crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

// OpenSSL's state. A failure can only mean a lack of memory, so it aborts.
struct Sha256::Context {
  Context() : md(EVP_MD_CTX_new()) { CHECK(md != nullptr && EVP_DigestInit_ex(md, EVP_sha256(), nullptr) == 1); }
  ~Context() { EVP_MD_CTX_free(md); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  EVP_MD_CTX* md;
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {}
Sha256::~Sha256() = default;

void Sha256::Add(std::string_view bytes) { CHECK(EVP_DigestUpdate(context_->md, bytes.data(), bytes.size()) == 1); }

std::string Sha256::Hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  CHECK(EVP_DigestFinal_ex(context_->md, digest.data(), &size) == 1);
  return HexText({reinterpret_cast<const char*>(digest.data()), size});
}

std::string Sha256Hex(std::string_view bytes) {
  Sha256 hash;
  hash.Add(bytes);
  return hash.Hex();
}

Result<std::string> Sha256OfFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Fail(path + ": cannot be read: " + std::strerror(errno));
  Sha256 hash;
  std::vector<char> block(std::size_t{1} << 18);
  ssize_t n = 0;
  while ((n = read(fd, block.data(), block.size())) > 0 || (n < 0 && errno == EINTR)) {
    if (n > 0) hash.Add({block.data(), static_cast<std::size_t>(n)});
  }
  const int error = errno;
  close(fd);
  if (n < 0) return Fail(path + ": cannot be read: " + std::strerror(error));
  return hash.Hex();
}

std::string RandomId() {
  std::string id(16, '\0');
  CHECK(getrandom(id.data(), id.size(), 0) == static_cast<ssize_t>(id.size()));  // cannot fail for so few bytes
  return id;
}

std::string RandomIdText() { return HexText(RandomId()); }

}  // namespace idleburn
