// Where the command stands: provider, checkout, identity, engine, disk.
#include <sys/statvfs.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>

#include "contract/requirements/requirements.h"

namespace hedge::contract {
namespace {

// Below this a database clone or an install is likely to fail half-way.
constexpr std::uint64_t kLeastFreeBytes = 256ULL << 20;

Requirement provider_requirement(const CheckContext& context) {
  return {"context.provider", "the provider is known", Severity::required, {}, [&context] {
            const ProviderChoice& choice = context.subject.provider.choice;
            return CheckOutcome::pass(choice.name + ", " + choice.chosen_by);
          }};
}

Requirement checkout_requirement(const CheckContext& context) {
  return {"git.checkout", "the checkout is a worktree of its repository", Severity::required, {}, [&context] {
            const auto found = resources_of(context.observations, "checkout");
            if (!found.empty()) return outcome_of(*found.front(), "checkout_broken");
            if (!context.subject.checkout.top.empty()) return CheckOutcome::pass();
            return CheckOutcome::fail(Error(ErrorKind::refused, "git does not know " + context.subject.record.path.string())
                                          .with_id("checkout_broken"));
          }};
}

Requirement identity_requirement(const CheckContext& context) {
  return {"git.identity", "git knows who commits", Severity::optional, {"git.checkout"}, [&context] {
            // useConfigOnly: an address made up from the host's name is no identity.
            constexpr int kFatal = 128;  // how git ends where it has no identity
            const std::vector<std::string> question{"-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT"};
            auto said = context.tools.git.run(context.subject.record.path, question);
            if (!said) return CheckOutcome::unknown(said.error());
            if (said->ok()) return CheckOutcome::pass();
            Error failure = worktree::git_error(question, *said);
            if (said->exit_code != kFatal) return CheckOutcome::unknown(std::move(failure));
            return CheckOutcome::fail(Error(ErrorKind::not_found, "git has no user.name and user.email")
                                          .with_id("git_identity_missing")
                                          .with_cause(std::move(failure)));
          }};
}

Requirement engine_requirement(const CheckContext& context) {
  return {"engine.available", "the container engine answers", Severity::required, {}, [&context] {
            const Evidence& evidence = context.subject.evidence;
            if (!evidence.needs_engine) return CheckOutcome::skip("the stack needs no container engine");
            if (evidence.engine_error) return CheckOutcome::fail(*evidence.engine_error);
            return CheckOutcome::pass();
          }};
}

std::string format_gigabytes(std::uint64_t bytes) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f GB free", static_cast<double>(bytes) / 1e9);
  return text.data();
}

CheckOutcome check_space(const std::filesystem::path& place) {
  struct statvfs facts {};
  if (::statvfs(place.c_str(), &facts) != 0) return CheckOutcome::unknown(Error::from_errno(errno, "look at " + place.string()));
  const std::uint64_t available = static_cast<std::uint64_t>(facts.f_bavail) * facts.f_frsize;
  if (available >= kLeastFreeBytes) return CheckOutcome::pass(format_gigabytes(available));
  return CheckOutcome::fail(
      Error(ErrorKind::no_space, "only " + format_gigabytes(available) + " at " + place.string()).with_id("disk_low"));
}

Requirement space_requirement(const CheckContext& context) {
  return {"disk.space", "there is space on the disk", Severity::required, {"git.checkout"}, [&context] {
            CheckOutcome state = check_space(context.tools.paths.state);
            return state.status == CheckStatus::pass ? check_space(context.subject.record.path) : state;
          }};
}

}  // namespace

void add_context_requirements(const CheckContext& context, std::vector<Requirement>& out) {
  out.push_back(provider_requirement(context));
  out.push_back(checkout_requirement(context));
  out.push_back(identity_requirement(context));
  out.push_back(engine_requirement(context));
  out.push_back(space_requirement(context));
}

std::vector<Requirement> requirements_of(const CheckContext& context) {
  std::vector<Requirement> out;
  add_context_requirements(context, out);
  add_file_requirements(context, out);
  add_database_requirements(context, out);
  add_serving_requirements(context, out);
  add_repository_requirements(context, out);
  return out;
}

}  // namespace hedge::contract
