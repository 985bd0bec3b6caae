#pragma once

#include <string>
#include <string_view>

namespace idleburn {

// What stands in the place of a secret.
inline constexpr std::string_view kRedacted = "[redacted]";

// Whether what goes by that name is better not shown: "--hf-token", "WANDB_API_KEY", "db.password". Names that only
// speak of a secret ("--password-file", "max_tokens", "eos-token-id") are none.
bool IsSecretName(std::string_view name);

// The same of a word that stands for itself: "-pSECRET", as mysql and sshpass take a password; how many of its bytes
// come before the secret, 0 if there is none. "-p" says so much (a port, a path, a partition) that words of common
// options ("-padding", "-print0"), figures ("-p8080", "-p80:80") and up to three small letters ("-pav") are shown.
std::size_t PasswordIn(std::string_view word);
// Whether a value of such a name may be shown all the same: "-pass 2" counts passes.
bool IsCountOf(std::string_view name, std::string_view value);

// Any text with what looks like a secret in it replaced: values of such names in "name=value", "name: value",
// "--name value" and JSON; what follows Bearer; keys that well-known services begin in their own way; user and password
// in addresses. Rather too much than too little: a name is all that tells.
std::string WithoutSecrets(std::string_view text);

}  // namespace idleburn
