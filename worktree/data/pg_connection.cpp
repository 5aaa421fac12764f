#include "worktree/data/pg_connection.h"

#include <array>
#include <cassert>
#include <cerrno>

#include <libpq-fe.h>
#include <poll.h>

#include "base/text.h"

namespace hedge::worktree {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr auto kCancelLimit = std::chrono::seconds(5);

struct ClearResult {
  void operator()(PGresult* result) const { PQclear(result); }
};
using PgResult = std::unique_ptr<PGresult, ClearResult>;

struct FreeOptions {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};

struct FreeText {
  void operator()(char* text) const { PQfreemem(text); }
};

// False: the time is over.
bool wait_for_socket(PGconn* connection, short events, SteadyClock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - SteadyClock::now());
  if (left.count() <= 0) return false;
  pollfd wait{PQsocket(connection), events, 0};
  return ::poll(&wait, 1, static_cast<int>(left.count())) > 0 || errno == EINTR;
}

struct StateError {
  std::string_view prefix;  // of an SQLSTATE. Source: PostgreSQL documentation, appendix A
  ErrorKind kind;
  std::string_view id;
};
constexpr std::array kStateErrors{
    StateError{"53100", ErrorKind::no_space, "disk_full"},
    StateError{"53300", ErrorKind::no_space, "pg_connections_exhausted"},
    StateError{"28", ErrorKind::permission, "database_access_denied"},
    StateError{"42501", ErrorKind::permission, "database_access_denied"},
    StateError{"3D000", ErrorKind::not_found, "database_missing"},
    StateError{"42P04", ErrorKind::already_exists, ""},
    StateError{"42710", ErrorKind::already_exists, ""},
    StateError{"42704", ErrorKind::not_found, ""},
    StateError{"55006", ErrorKind::busy, ""},
    StateError{"55P03", ErrorKind::busy, ""},
    StateError{"57014", ErrorKind::timed_out, ""},
    StateError{"57P", ErrorKind::unavailable, "database_unreachable"},
    StateError{"08", ErrorKind::unavailable, "database_unreachable"},
};

Error error_of_state(std::string_view state, const std::string& text) {
  for (const StateError& row : kStateErrors) {
    if (!state.starts_with(row.prefix)) continue;
    Error error(row.kind, text);
    return row.id.empty() ? error : std::move(error).with_id(row.id);
  }
  return {ErrorKind::io, text};
}

// The code in a message of a connection attempt, for which libpq has no function: "FATAL:  53300: sorry, …"
// once the verbosity says so. Empty if the server said nothing.
std::string_view state_in(std::string_view message) {
  constexpr std::size_t kStateBytes = 5;
  for (std::size_t colon = message.find(": "); colon != std::string_view::npos;
       colon = message.find(": ", colon + 2)) {
    std::string_view word = trim(message.substr(colon + 1));
    if (word.size() <= kStateBytes || word[kStateBytes] != ':') continue;
    word = word.substr(0, kStateBytes);
    // "FATAL" and "ERROR" have the same shape, but every code has a digit.
    if (word.find_first_not_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string_view::npos &&
        word.find_first_of("0123456789") != std::string_view::npos) {
      return word;
    }
  }
  return {};
}

Error connect_error(PGconn* connection) {
  const std::string message(trim(PQerrorMessage(connection)));
  const std::string text = message.substr(0, message.find('\n'));
  const std::string_view state = state_in(message);
  if (!state.empty()) return error_of_state(state, text);
  // libpq hangs up by itself where the server asks for a password and there is none.
  if (PQconnectionNeedsPassword(connection) == 1)
    return Error(ErrorKind::permission, text).with_id("database_access_denied");
  return Error(ErrorKind::unavailable, text).with_id("database_unreachable");
}

Error query_error(PGconn* connection, const PGresult* result) {
  const char* state = result != nullptr ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : nullptr;
  const char* primary = result != nullptr ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : nullptr;
  if (state != nullptr && primary != nullptr) return error_of_state(state, primary);
  return Error(ErrorKind::unavailable,
               "the connection to the database ended: " + std::string(trim(PQerrorMessage(connection))))
      .with_id("database_unreachable");
}

// Ends the running statement, and reads what it still says, so that the connection can be used again.
void cancel(PGconn* connection) {
  constexpr std::size_t kMessageBytes = 256;  // as libpq documents
  std::array<char, kMessageBytes> message{};
  PGcancel* cancel = PQgetCancel(connection);
  if (cancel == nullptr) return;
  PQcancel(cancel, message.data(), static_cast<int>(message.size()));
  PQfreeCancel(cancel);
  const auto deadline = SteadyClock::now() + kCancelLimit;
  while (true) {
    while (PQisBusy(connection) == 1) {
      if (!wait_for_socket(connection, POLLIN, deadline) || PQconsumeInput(connection) != 1) return;
    }
    if (PgResult(PQgetResult(connection)) == nullptr) return;
  }
}

}  // namespace

void PgConnection::Close::operator()(pg_conn* connection) const {
  PQfinish(connection);
}

Result<PgConnection> PgConnection::connect(const PgTarget& target) {
  std::vector<const char*> keys{"dbname"}, values{target.url.c_str()};
  const auto add = [&](const char* key, const std::string& value) {
    if (value.empty()) return;
    keys.push_back(key);
    values.push_back(value.c_str());
  };
  // A later dbname is plain, and wins over the one in the URL: only the first is expanded.
  add("user", target.user);
  add("password", target.password);
  add("dbname", target.database);
  const std::string name = "hedge";
  add("fallback_application_name", name);
  keys.push_back(nullptr);
  values.push_back(nullptr);
  const auto deadline = SteadyClock::now() + target.connect_limit;
  constexpr int kExpandUrl = 1;
  PgConnection out(PQconnectStartParams(keys.data(), values.data(), kExpandUrl));
  PGconn* connection = out.connection_.get();
  if (connection == nullptr) return Error(ErrorKind::io, "out of memory");
  if (PQstatus(connection) == CONNECTION_BAD) return connect_error(connection);
  PQsetErrorVerbosity(connection, PQERRORS_VERBOSE);
  auto polling = PGRES_POLLING_WRITING;
  while (polling != PGRES_POLLING_OK) {
    if (polling == PGRES_POLLING_FAILED) return connect_error(connection);
    if (!wait_for_socket(connection, polling == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline)) {
      return Error(ErrorKind::timed_out, "the database server did not answer within " +
                                             std::to_string(target.connect_limit.count()) + " ms")
          .with_id("database_unreachable");
    }
    polling = PQconnectPoll(connection);
  }
  PQsetErrorVerbosity(connection, PQERRORS_DEFAULT);
  // Notices (a name that was cut, an index that was made) are for nobody.
  PQsetNoticeReceiver(
      connection, [](void*, const PGresult*) {}, nullptr);
  // query() has its own bound; the role's would end a long copy half-way.
  if (auto ready = out.execute("SET statement_timeout = 0"); !ready) return ready.error();
  return out;
}

Result<std::vector<PgRow>> PgConnection::query(const std::string& sql,
                                               const std::vector<std::string>& parameters,
                                               std::chrono::milliseconds limit) {
  PGconn* connection = connection_.get();
  std::vector<const char*> values;
  for (const std::string& parameter : parameters) values.push_back(parameter.c_str());
  const int count = static_cast<int>(values.size());
  if (PQsendQueryParams(connection, sql.c_str(), count, nullptr, values.data(), nullptr, nullptr, 0) != 1) {
    return query_error(connection, nullptr);
  }
  const auto deadline = SteadyClock::now() + limit;
  PgResult last;
  while (true) {
    while (PQisBusy(connection) == 1) {
      if (!wait_for_socket(connection, POLLIN, deadline)) {
        cancel(connection);
        return Error(ErrorKind::timed_out,
                     "the database did not finish within " + std::to_string(limit.count()) + " ms");
      }
      if (PQconsumeInput(connection) != 1) return query_error(connection, nullptr);
    }
    PgResult next(PQgetResult(connection));
    if (next == nullptr) break;
    last = std::move(next);
  }
  const auto status = PQresultStatus(last.get());
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) return query_error(connection, last.get());
  std::vector<PgRow> rows(static_cast<std::size_t>(PQntuples(last.get())));
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (int column = 0; column < PQnfields(last.get()); ++column) {
      const int at = static_cast<int>(row);
      const bool is_null = PQgetisnull(last.get(), at, column) == 1;
      rows[row].push_back(is_null ? std::nullopt
                                  : std::optional<std::string>(PQgetvalue(last.get(), at, column)));
    }
  }
  return rows;
}

Result<void> PgConnection::execute(const std::string& sql, const std::vector<std::string>& parameters,
                                   std::chrono::milliseconds limit) {
  auto rows = query(sql, parameters, limit);
  if (!rows) return rows.error();
  return {};
}

Result<std::string> PgConnection::encrypt_password(const std::string& user, const std::string& password) {
  // Not the server's configured algorithm: asking for it is another round trip, and every supported server
  // has this one.
  const std::unique_ptr<char, FreeText> text(
      PQencryptPasswordConn(connection_.get(), password.c_str(), user.c_str(), "scram-sha-256"));
  if (text == nullptr)
    return Error(ErrorKind::io,
                 "cannot encrypt a password: " + std::string(PQerrorMessage(connection_.get())));
  return std::string(text.get());
}

int PgConnection::server_version() const {
  return PQserverVersion(connection_.get());
}

Environment PgConnection::client_environment() const {
  Environment out;
  const std::unique_ptr<PQconninfoOption, FreeOptions> options(PQconninfo(connection_.get()));
  for (const PQconninfoOption* option = options.get(); option != nullptr && option->keyword != nullptr;
       ++option) {
    if (option->envvar != nullptr && option->val != nullptr && *option->val != '\0')
      out[option->envvar] = option->val;
  }
  return out;
}

PgAddress address_of(const std::string& url) {
  PgAddress out;
  const std::unique_ptr<PQconninfoOption, FreeOptions> options(PQconninfoParse(url.c_str(), nullptr));
  for (const PQconninfoOption* option = options.get(); option != nullptr && option->keyword != nullptr;
       ++option) {
    if (option->val == nullptr) continue;
    const std::string_view keyword = option->keyword;
    if (keyword == "user") out.user = option->val;
    if (keyword == "host") out.host = option->val;
    if (keyword == "port") out.port = option->val;
  }
  return out;
}

std::string quote_identifier(std::string_view name) {
  assert(name.find('\0') == std::string_view::npos && "a name with NUL was refused when it was made");
  return "\"" + replace_all(std::string(name), "\"", "\"\"") + "\"";
}

std::string quote_literal(std::string_view text) {
  assert(text.find('\0') == std::string_view::npos && "a text with NUL cannot be stored");
  const std::string quoted = "'" + replace_all(std::string(text), "'", "''") + "'";
  if (quoted.find('\\') == std::string::npos) return quoted;
  // Whatever standard_conforming_strings says, E'' reads backslashes as escapes.
  return " E" + replace_all(quoted, "\\", "\\\\");
}

}  // namespace hedge::worktree
