#include "proxy/metrics/process_facts.h"

#include <cstddef>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

namespace hedge::proxy {
namespace {

constexpr std::size_t kMostBytes = 64UL << 10;

std::uint64_t count_descriptors() {
  std::error_code failure;
  std::filesystem::directory_iterator entry("/proc/self/fd", failure);
  std::uint64_t count = 0;
  while (!failure && entry != std::filesystem::directory_iterator()) {
    ++count;
    entry.increment(failure);
  }
  // The one that reads the directory is in it.
  return count > 0 ? count - 1 : 0;
}

std::uint64_t resident_bytes() {
  const auto text = read_file("/proc/self/statm", kMostBytes);
  if (!text) return 0;
  const auto fields = split(trim(*text), ' ');
  const auto pages =
      fields.size() > 1 ? parse_number<std::uint64_t>(fields[1]).value_or(0) : std::uint64_t{0};
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

double cpu_seconds() {
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Field 22 of /proc/self/stat counts ticks since boot; the name in field 2 may hold spaces (proc(5)).
double start_ticks() {
  const auto text = read_file("/proc/self/stat", kMostBytes);
  if (!text) return 0;
  const std::string_view after_name = std::string_view(*text).substr(text->rfind(')') + 1);
  const auto fields = split(trim(after_name), ' ');
  constexpr std::size_t kStartTime = 19;
  if (fields.size() <= kStartTime) return 0;
  return static_cast<double>(parse_number<std::uint64_t>(fields[kStartTime]).value_or(0));
}

double boot_time() {
  const auto text = read_file("/proc/stat", kMostBytes * 16);
  if (!text) return 0;
  for (const std::string_view line : split(*text, '\n')) {
    if (line.starts_with("btime "))
      return static_cast<double>(parse_number<std::uint64_t>(trim(line.substr(6))).value_or(0));
  }
  return 0;
}

}  // namespace

ProcessFacts fetch_process_facts() {
  ProcessFacts facts;
  facts.open_descriptors = count_descriptors();
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) facts.most_descriptors = limit.rlim_cur;
  facts.resident_bytes = resident_bytes();
  facts.cpu_seconds = cpu_seconds();
  if (const double boot = boot_time(); boot > 0)
    facts.start_time_seconds = boot + start_ticks() / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return facts;
}

}  // namespace hedge::proxy
