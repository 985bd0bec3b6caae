// Runs one query with DuckDB's C library, as a peer: its rows go to stdout, one a line, cells separated by tabs.
//   duckdb_query THREADS SQL
#include "import/duckdb_query.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string>

namespace {

using idleburn::Result;

Result<void> Run(int threads, const std::string& sql) {
  const auto connection = idleburn::OpenDuckDb(threads);
  if (!connection) return tl::unexpected<idleburn::Error>(connection.error());
  const auto unbound = (*connection)->Query("SET memory_limit = '1TB'");  // the peer may use what it likes
  if (!unbound) return tl::unexpected<idleburn::Error>(unbound.error());
  const bool select = sql.rfind("SELECT", 0) == 0 || sql.rfind("WITH", 0) == 0;
  const auto stream = (*connection)->Query(select ? "SELECT COLUMNS(*)::VARCHAR FROM (" + sql + ")" : sql);
  if (!stream) return tl::unexpected<idleburn::Error>(stream.error());
  while (true) {
    const auto chunk = (*stream)->Next();
    if (!chunk) return tl::unexpected<idleburn::Error>(chunk.error());
    if (*chunk == nullptr) return {};
    for (std::size_t row = 0; select && row < (*chunk)->rows(); ++row) {
      for (std::size_t c = 0; c < (*stream)->columns().size(); ++c) {
        fmt::print("{}{}", c == 0 ? "" : "\t", (*chunk)->Vector(c).Text(row));
      }
      fmt::print("\n");
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: duckdb_query THREADS SQL\n");
    return 2;
  }
  const Result<void> done = Run(std::atoi(argv[1]), argv[2]);
  if (done) return 0;
  fmt::print(stderr, "duckdb_query: {}\n", done.error().message);
  return 1;
}
