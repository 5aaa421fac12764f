// The only main() and the only place that catches exceptions: they are bugs or out-of-memory.
#include <exception>

#include "certs/openssl_ptr.h"
#include "cli/command_line.h"
#include "cli/output.h"

int main(int argc, char** argv) {
  hedge::certs::ignore_openssl_configuration();
  hedge::cli::Output output = hedge::cli::Output::claim_standard_output();
  const hedge::cli::Arguments arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  try {
    return hedge::cli::run_command_line(arguments, output);
  } catch (const std::exception& bug) {
    return hedge::cli::report_bug(arguments, output, bug.what());
  }
}
