// A certificate that somebody else made, checked before it is shown to anybody.
#pragma once

#include <memory>

#include "base/clock.h"
#include "base/result.h"
#include "certs/certificate_store.h"

namespace hedge::certs {

// Errors: not_found, permission; invalid_input `certificate_invalid`: unreadable, the key is of another
// certificate, it is a CA certificate, or it has ended.
Result<std::shared_ptr<const ServerCertificate>> load_given_certificate(const GivenCertificate& given,
                                                                        WallTime now);

}  // namespace hedge::certs
