#include "import/duckdb_query.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>
#include <vector>

#include "os/dynamic_library.h"

// DuckDB's header is optional. Without it, the program says that it cannot read such a file.
#if __has_include(<duckdb.h>)
#include <duckdb.h>
#endif

namespace idleburn {

// DuckDB's C interface behind two small classes. The library is optional twice: without its header the program is
// built without it, and without the library a Parquet file that needs it is an error that says how to get it. Every
// handle of the interface has one owner here, which frees it.

namespace {

// The text between quotes, with each quote inside doubled. This is all that SQL needs, because DuckDB knows no
// backslash escapes in plain literals.
std::string QuotedBy(char quote, std::string_view text) {
  std::string quoted(1, quote);
  for (const char c : text) quoted.append(c == quote ? 2 : 1, c);
  return quoted + quote;
}

}  // namespace

std::string SqlName(std::string_view name) { return QuotedBy('"', name); }
std::string SqlText(std::string_view text) { return QuotedBy('\'', text); }

Result<void> DuckDbConnection::Execute(const std::string& sql) {
  const std::unique_ptr<TableStream> stream = TRY(Query(sql));
  while (TRY(stream->Next()) != nullptr) {
  }
  return {};
}

#if __has_include(<duckdb.h>)

namespace {

// The functions that are used, named without "duckdb_". They are resolved at run time: linking the library would make
// it a condition for starting the program, while only few files need it.
struct DuckDbApi {
  decltype(&duckdb_create_config) create_config = nullptr;
  decltype(&duckdb_set_config) set_config = nullptr;
  decltype(&duckdb_destroy_config) destroy_config = nullptr;
  decltype(&duckdb_open_ext) open_ext = nullptr;
  decltype(&duckdb_close) close = nullptr;
  decltype(&duckdb_free) free = nullptr;
  decltype(&duckdb_connect) connect = nullptr;
  decltype(&duckdb_disconnect) disconnect = nullptr;
  decltype(&duckdb_prepare) prepare = nullptr;
  decltype(&duckdb_prepare_error) prepare_error = nullptr;
  decltype(&duckdb_destroy_prepare) destroy_prepare = nullptr;
  decltype(&duckdb_pending_prepared_streaming) pending_prepared_streaming = nullptr;
  decltype(&duckdb_pending_error) pending_error = nullptr;
  decltype(&duckdb_destroy_pending) destroy_pending = nullptr;
  decltype(&duckdb_execute_pending) execute_pending = nullptr;
  decltype(&duckdb_result_error) result_error = nullptr;
  decltype(&duckdb_destroy_result) destroy_result = nullptr;
  decltype(&duckdb_column_count) column_count = nullptr;
  decltype(&duckdb_column_name) column_name = nullptr;
  decltype(&duckdb_column_type) column_type = nullptr;
  decltype(&duckdb_fetch_chunk) fetch_chunk = nullptr;
  decltype(&duckdb_destroy_data_chunk) destroy_data_chunk = nullptr;
  decltype(&duckdb_data_chunk_get_size) data_chunk_get_size = nullptr;
  decltype(&duckdb_data_chunk_get_vector) data_chunk_get_vector = nullptr;
  decltype(&duckdb_vector_get_data) vector_get_data = nullptr;
  decltype(&duckdb_vector_get_validity) vector_get_validity = nullptr;
  decltype(&duckdb_prepared_statement_type) prepared_statement_type = nullptr;
  decltype(&duckdb_appender_create) appender_create = nullptr;
  decltype(&duckdb_appender_error) appender_error = nullptr;
  decltype(&duckdb_appender_close) appender_close = nullptr;
  decltype(&duckdb_appender_destroy) appender_destroy = nullptr;
  decltype(&duckdb_appender_column_type) appender_column_type = nullptr;
  decltype(&duckdb_append_data_chunk) append_data_chunk = nullptr;
  decltype(&duckdb_create_data_chunk) create_data_chunk = nullptr;
  decltype(&duckdb_data_chunk_reset) data_chunk_reset = nullptr;
  decltype(&duckdb_data_chunk_set_size) data_chunk_set_size = nullptr;
  decltype(&duckdb_vector_ensure_validity_writable) vector_ensure_validity_writable = nullptr;
  decltype(&duckdb_vector_assign_string_element_len) vector_assign_string_element_len = nullptr;
  decltype(&duckdb_destroy_logical_type) destroy_logical_type = nullptr;
  decltype(&duckdb_validity_set_row_invalid) validity_set_row_invalid = nullptr;
};

// False if the library lacks a function: it is an older version, or another library of that name.
bool Resolve(const DynamicLibrary& library, DuckDbApi& api) {
  bool complete = true;
  const auto find = [&](const char* name, auto* function) {
    library.Find(name, function);
    complete = complete && *function != nullptr;
  };
  find("duckdb_create_config", &api.create_config);
  find("duckdb_set_config", &api.set_config);
  find("duckdb_destroy_config", &api.destroy_config);
  find("duckdb_open_ext", &api.open_ext);
  find("duckdb_close", &api.close);
  find("duckdb_free", &api.free);
  find("duckdb_connect", &api.connect);
  find("duckdb_disconnect", &api.disconnect);
  find("duckdb_prepare", &api.prepare);
  find("duckdb_prepare_error", &api.prepare_error);
  find("duckdb_destroy_prepare", &api.destroy_prepare);
  find("duckdb_pending_prepared_streaming", &api.pending_prepared_streaming);
  find("duckdb_pending_error", &api.pending_error);
  find("duckdb_destroy_pending", &api.destroy_pending);
  find("duckdb_execute_pending", &api.execute_pending);
  find("duckdb_result_error", &api.result_error);
  find("duckdb_destroy_result", &api.destroy_result);
  find("duckdb_column_count", &api.column_count);
  find("duckdb_column_name", &api.column_name);
  find("duckdb_column_type", &api.column_type);
  find("duckdb_fetch_chunk", &api.fetch_chunk);
  find("duckdb_destroy_data_chunk", &api.destroy_data_chunk);
  find("duckdb_data_chunk_get_size", &api.data_chunk_get_size);
  find("duckdb_data_chunk_get_vector", &api.data_chunk_get_vector);
  find("duckdb_vector_get_data", &api.vector_get_data);
  find("duckdb_vector_get_validity", &api.vector_get_validity);
  find("duckdb_prepared_statement_type", &api.prepared_statement_type);
  find("duckdb_appender_create", &api.appender_create);
  find("duckdb_appender_error", &api.appender_error);
  find("duckdb_appender_close", &api.appender_close);
  find("duckdb_appender_destroy", &api.appender_destroy);
  find("duckdb_appender_column_type", &api.appender_column_type);
  find("duckdb_append_data_chunk", &api.append_data_chunk);
  find("duckdb_create_data_chunk", &api.create_data_chunk);
  find("duckdb_data_chunk_reset", &api.data_chunk_reset);
  find("duckdb_data_chunk_set_size", &api.data_chunk_set_size);
  find("duckdb_vector_ensure_validity_writable", &api.vector_ensure_validity_writable);
  find("duckdb_vector_assign_string_element_len", &api.vector_assign_string_element_len);
  find("duckdb_destroy_logical_type", &api.destroy_logical_type);
  find("duckdb_validity_set_row_invalid", &api.validity_set_row_invalid);
  return complete;
}

// Tries the system's library, then one beside the program, then the one that was installed with it, then the one that
// the build fetched. The last only in the build's own folder: an installed program must not load from a path that
// anyone may create.
Result<DuckDbApi> Load() {
  const std::string folder = ProgramFolder();
  std::vector<std::string> paths = {"libduckdb.so", folder + "/libduckdb.so", folder + "/../lib/idleburn/libduckdb.so"};
  std::error_code unknown;
  if (std::filesystem::equivalent(folder, IDLEBURN_BUILD, unknown))
    paths.emplace_back(IDLEBURN_DEPS "/lib/libduckdb.so");
  for (const std::string& path : paths) {
    const Result<DynamicLibrary> library = DynamicLibrary::Open(path);
    DuckDbApi api;
    if (library && Resolve(*library, api)) return api;
  }
  return Fail(
      "needs DuckDB's C library, and idleburn found no usable libduckdb.so; install it, or put it "
      "next to the program (tools/install_deps.sh build fetches it)");
}

// The library's messages have several lines; the first says what is wrong.
tl::unexpected<Error> FailWith(const char* message) {
  const std::string_view text = message != nullptr ? message : "DuckDB: unknown error";
  return Fail(std::string(text.substr(0, text.find('\n'))));
}

// DuckDB's types in our terms. kOther for a type that the query must cast.
TableType ToTableType(duckdb_type type) {
  using T = TableType;
  constexpr std::array<std::pair<duckdb_type, T>, 16> kTypes = {{
      {DUCKDB_TYPE_TINYINT, T::kInteger},
      {DUCKDB_TYPE_SMALLINT, T::kInteger},
      {DUCKDB_TYPE_INTEGER, T::kInteger},
      {DUCKDB_TYPE_BIGINT, T::kInteger},
      {DUCKDB_TYPE_UTINYINT, T::kInteger},
      {DUCKDB_TYPE_USMALLINT, T::kInteger},
      {DUCKDB_TYPE_UINTEGER, T::kInteger},
      {DUCKDB_TYPE_UBIGINT, T::kInteger},
      {DUCKDB_TYPE_FLOAT, T::kReal},
      {DUCKDB_TYPE_DOUBLE, T::kReal},
      {DUCKDB_TYPE_VARCHAR, T::kText},
      {DUCKDB_TYPE_TIMESTAMP_S, T::kTimestampSeconds},
      {DUCKDB_TYPE_TIMESTAMP_MS, T::kTimestampMillis},
      {DUCKDB_TYPE_TIMESTAMP, T::kTimestampMicros},
      {DUCKDB_TYPE_TIMESTAMP_NS, T::kTimestampNanos},
      {DUCKDB_TYPE_TIMESTAMP_TZ, T::kTimestampUtc},
  }};
  for (const auto& [theirs, ours] : kTypes) {
    if (theirs == type) return ours;
  }
  return T::kOther;
}

// A chunk of DuckDB's, read in place and freed with this object.
class Chunk final : public TableChunk {
 public:
  Chunk(const DuckDbApi& api, duckdb_data_chunk chunk) : api_(api), chunk_(chunk) {}
  ~Chunk() override { api_.destroy_data_chunk(&chunk_); }
  Chunk(const Chunk&) = delete;
  Chunk& operator=(const Chunk&) = delete;

  [[nodiscard]] std::size_t rows() const override { return static_cast<std::size_t>(api_.data_chunk_get_size(chunk_)); }
  [[nodiscard]] TableVector Vector(std::size_t column) const override {
    const duckdb_vector vector = api_.data_chunk_get_vector(chunk_, column);
    return {api_.vector_get_data(vector), api_.vector_get_validity(vector)};
  }

 private:
  const DuckDbApi& api_;
  duckdb_data_chunk chunk_;
};

// A streaming result: DuckDB computes chunks as they are fetched.
class Stream final : public TableStream {
 public:
  explicit Stream(const DuckDbApi& api) : api_(api) {}
  ~Stream() override { api_.destroy_result(&result_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Starts the query. Frees the statement and the pending result on every path; the destructor frees the result.
  Result<void> Run(duckdb_connection connection, const std::string& sql) {
    duckdb_prepared_statement statement = nullptr;
    duckdb_pending_result pending = nullptr;
    Result<void> done;
    // Streaming keeps memory bounded: the plain call would compute the whole result first.
    if (api_.prepare(connection, sql.c_str(), &statement) != DuckDBSuccess) {
      done = FailWith(api_.prepare_error(statement));
    } else if (api_.pending_prepared_streaming(statement, &pending) != DuckDBSuccess) {
      done = FailWith(api_.pending_error(pending));
    } else if (api_.execute_pending(pending, &result_) != DuckDBSuccess) {
      done = FailWith(api_.result_error(&result_));
    } else {
      ReadColumns();
    }
    api_.destroy_pending(&pending);
    api_.destroy_prepare(&statement);
    return done;
  }

  [[nodiscard]] const std::vector<StreamColumn>& columns() const override { return columns_; }

  Result<std::unique_ptr<TableChunk>> Next() override {
    const duckdb_data_chunk chunk = api_.fetch_chunk(result_);
    if (chunk != nullptr) return std::make_unique<Chunk>(api_, chunk);
    // A stream ends with a null chunk, after an error too.
    const char* const error = api_.result_error(&result_);
    if (error != nullptr) return FailWith(error);
    return std::unique_ptr<TableChunk>();
  }

 private:
  // Takes the names and types of the result's columns.
  void ReadColumns() {
    const idx_t count = api_.column_count(&result_);
    for (idx_t i = 0; i < count; ++i) {
      columns_.push_back({api_.column_name(&result_, i), ToTableType(api_.column_type(&result_, i))});
    }
  }

  const DuckDbApi& api_;
  duckdb_result result_{};
  std::vector<StreamColumn> columns_;
};

// Copies rows into chunks of DuckDB's and appends those.
class Appender final : public DuckDbAppender {
 public:
  Appender(const DuckDbApi& api, duckdb_appender appender) : api_(api), appender_(appender) {}
  ~Appender() override {
    if (chunk_ != nullptr) api_.destroy_data_chunk(&chunk_);
    api_.appender_destroy(&appender_);
  }
  Appender(const Appender&) = delete;
  Appender& operator=(const Appender&) = delete;

  Result<void> Append(std::span<const AppendColumn> columns, std::size_t rows) override {
    if (chunk_ == nullptr) MakeChunk(columns.size());
    constexpr std::size_t kChunk = 2048;  // of every DuckDB release so far
    for (std::size_t from = 0; from < rows; from += kChunk) {
      const std::size_t count = std::min(kChunk, rows - from);
      api_.data_chunk_reset(chunk_);
      for (std::size_t c = 0; c < columns.size(); ++c) {
        Fill(api_.data_chunk_get_vector(chunk_, c), columns[c], from, count);
      }
      api_.data_chunk_set_size(chunk_, count);
      if (api_.append_data_chunk(appender_, chunk_) != DuckDBSuccess) return FailWith(api_.appender_error(appender_));
    }
    return {};
  }

  Result<void> Close() override {
    if (api_.appender_close(appender_) != DuckDBSuccess) return FailWith(api_.appender_error(appender_));
    return {};
  }

 private:
  void MakeChunk(std::size_t columns) {
    std::vector<duckdb_logical_type> types;
    for (std::size_t c = 0; c < columns; ++c) types.push_back(api_.appender_column_type(appender_, c));
    chunk_ = api_.create_data_chunk(types.data(), columns);
    for (duckdb_logical_type& type : types) api_.destroy_logical_type(&type);
  }
  void Fill(duckdb_vector vector, const AppendColumn& column, std::size_t from, std::size_t count) {
    using Kind = AppendColumn::Kind;
    void* const data = api_.vector_get_data(vector);
    api_.vector_ensure_validity_writable(vector);
    std::uint64_t* const validity = api_.vector_get_validity(vector);
    for (std::size_t row = 0; row < count; ++row) {
      const std::size_t at = from + row;
      if (column.nulls[at] != 0) {
        api_.validity_set_row_invalid(validity, row);
      } else if (column.kind == Kind::kText) {
        api_.vector_assign_string_element_len(vector, row, column.texts[at].data(), column.texts[at].size());
      } else {
        static_cast<std::int64_t*>(data)[row] = column.numbers[at];
      }
    }
  }

  const DuckDbApi& api_;
  duckdb_appender appender_;
  duckdb_data_chunk chunk_ = nullptr;
};

// A database in memory and a connection to it. `api` lives as long as the program.
class Connection final : public DuckDbConnection {
 public:
  explicit Connection(const DuckDbApi& api) : api_(api) {}
  ~Connection() override {
    if (connection_ != nullptr) api_.disconnect(&connection_);
    if (database_ != nullptr) api_.close(&database_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Opens the database with settings that keep a query in bounds: no downloads, little memory, and no files on disk
  // but those of the place.
  Result<void> Open(const DuckDbPlace& place) {
    const std::string thread_count = std::to_string(place.threads);
    const std::array<std::pair<const char*, const char*>, 5> settings = {{
        {"threads", thread_count.c_str()},
        {"memory_limit", place.memory.c_str()},
        {"temp_directory", place.spill_folder.c_str()},
        {"autoinstall_known_extensions", "false"},
        {"autoload_known_extensions", "false"},
    }};
    duckdb_config config = nullptr;
    api_.create_config(&config);
    // Older libraries lack some of these settings. None changes a result.
    for (const auto& [name, value] : settings) api_.set_config(config, name, value);
    char* error = nullptr;
    const char* const path = place.path.empty() ? nullptr : place.path.c_str();
    const bool opened = api_.open_ext(path, &database_, config, &error) == DuckDBSuccess;
    api_.destroy_config(&config);
    Result<void> done;
    if (!opened) done = FailWith(error);
    api_.free(error);
    if (opened && api_.connect(database_, &connection_) != DuckDBSuccess) done = FailWith("DuckDB: cannot connect");
    return done;
  }

  Result<std::unique_ptr<TableStream>> Query(const std::string& sql) override {
    auto stream = std::make_unique<Stream>(api_);
    TRY(stream->Run(connection_, sql));
    return stream;
  }

  Result<void> CheckReads(const std::string& sql) override {
    duckdb_prepared_statement statement = nullptr;
    Result<void> done;
    if (api_.prepare(connection_, sql.c_str(), &statement) != DuckDBSuccess) {
      done = FailWith(api_.prepare_error(statement));
    } else if (api_.prepared_statement_type(statement) != DUCKDB_STATEMENT_TYPE_SELECT) {
      done = Fail("only one SELECT is allowed");
    }
    api_.destroy_prepare(&statement);
    return done;
  }

  Result<std::unique_ptr<DuckDbAppender>> AppendTo(const std::string& table) override {
    duckdb_appender appender = nullptr;
    if (api_.appender_create(connection_, nullptr, table.c_str(), &appender) != DuckDBSuccess) {
      const auto fault = FailWith(api_.appender_error(appender));
      api_.appender_destroy(&appender);
      return fault;
    }
    return std::make_unique<Appender>(api_, appender);
  }

 private:
  const DuckDbApi& api_;
  duckdb_database database_ = nullptr;
  duckdb_connection connection_ = nullptr;
};

// TextCell reads DuckDB's strings in place.
static_assert(sizeof(duckdb_string_t) == sizeof(TextCell));

}  // namespace

Result<std::unique_ptr<DuckDbConnection>> OpenDuckDbAt(const DuckDbPlace& place, const std::string& whose) {
  // Loaded once, and the answer kept, whether it is the library or its absence.
  static const Result<DuckDbApi> kApi = Load();
  if (!kApi) return Fail(whose + " " + kApi.error().message);
  auto connection = std::make_unique<Connection>(*kApi);
  TRY(connection->Open(place));
  return connection;
}

#else

Result<std::unique_ptr<DuckDbConnection>> OpenDuckDbAt(const DuckDbPlace&, const std::string& whose) {
  return Fail(whose +
              " needs DuckDB, and idleburn was built without its header duckdb.h; run "
              "tools/install_deps.sh build and build again, or convert the file to CSV");
}

#endif

Result<std::unique_ptr<DuckDbConnection>> OpenDuckDb(int threads) {
  DuckDbPlace place;
  place.threads = threads;
  return OpenDuckDbAt(place, "this Parquet file");
}

}  // namespace idleburn
