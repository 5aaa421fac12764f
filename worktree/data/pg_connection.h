// One connection to PostgreSQL: the only user of libpq. Every wait has a bound; values travel as parameters.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/subprocess.h"

struct pg_conn;

namespace hedge::worktree {

// Where and as whom. Empty fields: what libpq finds in its environment and files.
struct PgTarget {
  std::string url;       // postgresql://… ; may hold everything
  std::string database;  // over the URL's
  std::string user;      // over the URL's
  std::string password;  // over the URL's
  std::chrono::milliseconds connect_limit{5000};
};

using PgRow = std::vector<std::optional<std::string>>;

class PgConnection {
 public:
  // Errors: unavailable `database_unreachable`, timed_out `database_unreachable`, no_space
  // `pg_connections_exhausted`, permission `database_access_denied`, not_found `database_missing`.
  static Result<PgConnection> connect(const PgTarget& target);

  // One statement. Errors by SQLSTATE: no_space `disk_full`, already_exists, not_found, permission, busy (a
  // lock or use by others), timed_out, io; the text is the server's primary message.
  Result<std::vector<PgRow>> query(const std::string& sql, const std::vector<std::string>& parameters = {},
                                   std::chrono::milliseconds limit = std::chrono::seconds(30));
  Result<void> execute(const std::string& sql, const std::vector<std::string>& parameters = {},
                       std::chrono::milliseconds limit = std::chrono::seconds(30));

  // What the server stores of a password, so that the password itself never reaches its log.
  Result<std::string> encrypt_password(const std::string& user, const std::string& password);
  int server_version() const;  // 150013
  // What makes PostgreSQL's own programs connect as this connection did, with the password where only this
  // user can read it.
  Environment client_environment() const;

 private:
  struct Close {
    void operator()(pg_conn* connection) const;
  };
  explicit PgConnection(pg_conn* connection) : connection_(connection) {}
  std::unique_ptr<pg_conn, Close> connection_;
};

// Host and port of a connection URL; empty where it names none, or is none.
struct PgAddress {
  std::string user;
  std::string host;
  std::string port;
};
PgAddress address_of(const std::string& url);

// A quoted identifier. Requires: at most 63 bytes, no NUL; longer names were refused when they were made.
std::string quote_identifier(std::string_view name);
// A quoted literal, for statements that take no parameters (COMMENT, ALTER ROLE … PASSWORD).
std::string quote_literal(std::string_view text);

}  // namespace hedge::worktree
