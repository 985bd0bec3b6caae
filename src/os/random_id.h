#pragma once

#include <string>

namespace idleburn {

// Sixteen bytes that no other call returns, on this machine or another: an identity, not a secret.
std::string RandomId();
// One in 32 hexadecimal digits.
std::string RandomIdText();

}  // namespace idleburn
