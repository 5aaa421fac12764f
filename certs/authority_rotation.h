// A new CA in the place of the old one, in steps between which clients trust both.
//
// The successor is made beside the CA (ca-next/). The two directories change their names in one step, so that at any
// moment there is one whole CA; then ca-next/ holds the old one until it is thrown away. A rotation that was killed
// goes on where it stood.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "certs/certificate_authority.h"

namespace hedge::certs {

// Where the successor is before the switch, and the old CA after it. Its root need not be there.
AuthorityLocation successor_location(const AuthorityLocation& location);

enum class RotationStage {
  none,      // there is one CA
  prepared,  // the successor is there
  switched,  // the successor is the CA; the old one is still there
};
RotationStage rotation_stage(const AuthorityLocation& location);

// Makes the successor, unless there is one. `prepared` afterwards, or `switched` if that is where an earlier
// rotation stood. Errors: not_found `ca_missing`; busy; no_space `disk_full`; io.
Result<RotationStage> prepare_successor(const AuthorityLocation& location,
                                        const std::vector<std::string>& suffixes, const Clock& clock);

// From prepared to switched. A no-op when that is done. Errors: as load_authority(), of the successor; busy; io.
Result<void> switch_to_successor(const AuthorityLocation& location, const Clock& clock);

// Throws the old CA and its keys away, or the successor that was not switched to. Errors: busy, io.
Result<void> end_rotation(const AuthorityLocation& location);

}  // namespace hedge::certs
