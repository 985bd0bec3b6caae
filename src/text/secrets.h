#pragma once

#include <string>
#include <string_view>

namespace idleburn {

// What stands in the place of a secret.
inline constexpr std::string_view kRedacted = "[redacted]";

// Whether what goes by that name is better not shown: "--hf-token", "WANDB_API_KEY", "db.password". Names that only
// speak of a secret ("--password-file", "max_tokens", "eos-token-id") are none.
bool IsSecretName(std::string_view name);

// Any text with what looks like a secret in it replaced: values of such names in "name=value", "name: value",
// "--name value" and JSON; what follows Bearer; keys that well-known services begin in their own way; user and password
// in addresses. Rather too much than too little: a name is all that tells.
std::string WithoutSecrets(std::string_view text);

}  // namespace idleburn
