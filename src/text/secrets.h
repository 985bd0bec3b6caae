#pragma once

#include <string>
#include <string_view>

namespace idleburn {

// Finds secrets in names, words and text, so that reports and the history never hold one. A command line is where
// people put tokens, and a report is what they share. Nothing marks a secret as one: names, well-known prefixes and
// the place in an address have to tell.
//
//     --hf-token hf_abc... --lr 3e-4           ->   --hf-token [redacted] --lr 3e-4
//     https://ci:s3cret@host/repo              ->   https://ci:[redacted]@host/repo

// Replaces a secret in every output.
inline constexpr std::string_view kRedacted = "[redacted]";

// Whether a value with this name is probably a secret: "--hf-token", "WANDB_API_KEY", "db.password". Names that only
// mention one are not: "--password-file", "max_tokens", "eos-token-id".
bool IsSecretName(std::string_view name);

// The number of bytes before a password inside one word, or 0 if there is none. mysql and sshpass take "-pSECRET",
// which gives 2. "-p" has many other meanings (port, path, partition). So common options ("-padding", "-print0"),
// numbers ("-p8080", "-p80:80") and up to three lower-case letters ("-pav") hold no password.
std::size_t PasswordIn(std::string_view word);
// Whether a value of a secret's name is a harmless count: "-pass 2" counts passes, as of a video encoder. Only one
// digit counts as such.
bool IsCountOf(std::string_view name, std::string_view value);

// Replaces everything in a text that looks like a secret:
// * values of secret names, in "name=value", "name: value", "--name value" and JSON
// * the token after "Bearer"
// * keys with the prefix of a well-known service, such as "hf_" or "AKIA"
// * user and password in an address
// Often only a name tells a secret from other text, so it redacts too much rather than too little.
std::string WithoutSecrets(std::string_view text);

}  // namespace idleburn
