#!/usr/bin/env bash
# Read by tools/fresh.sh: carries out a Containerfile where no container engine is at hand. Each stage is a copy of the
# bare root. It knows the instructions that our file has; another one is an error.
set -euo pipefail

# carry_out FILE: every instruction is a step. At the end the image's program audits the demo.
carry_out() {
  local file=$1 line number=0 stage="" folder=/ user="" entry=""
  local -A stages=()
  while IFS= read -r line; do
    local instruction=${line%% *} words=${line#* }
    case $instruction in
      FROM)
        number=$((number + 1))
        stage=$work/stage$number
        folder=/
        user=""
        case $words in
          "debian:12-slim AS "*) stages[${words##* }]=$stage ;;
          "debian:12-slim") ;;
          *) failed="$file: $line"; exit 1 ;;
        esac
        step "$line" new_root "$stage"
        # What was compiled before need not be compiled again.
        if [ -d "$root/root/.cache/ccache" ]; then
          mkdir -p "$stage/root/.cache"
          cp -r "$root/root/.cache/ccache" "$stage/root/.cache/"
        fi
        ;;
      WORKDIR) folder=$words; step "$line" mkdir -p "$stage$folder" ;;
      COPY) step "$line" copy_into "$stage" "$folder" "$words" ;;
      RUN) step "$line" within "$stage" "$folder" "$words" ;;
      USER) user=$words ;;
      ENTRYPOINT) entry=$(tr -d '[]",' <<<"$words") ;;
      CMD) step "$line" as_user "$(tr -d '[]",' <<<"$words")" ;;
      *) failed="$file: $line"; exit 1 ;;
    esac
  done < <(sed -e ':join' -e '/\\$/{N; s/ *\\\n */ /; b join}' "$file" | grep -vE '^(#|$)')
  step "the image's entry point" as_user "demo --full"
}

# The image's program with the words of a user. It must not run as root.
as_user() {
  [ -n "$user" ] && [ -n "$entry" ]
  within "$stage" "$folder" "test \$(id -u $user) != 0 && setpriv --reuid $user --regid $user --init-groups $entry $1"
}

# copy_into ROOT FOLDER WORDS: "FROM TO" of the project's committed files, or "--from=STAGE FROM TO".
copy_into() {
  local words
  read -ra words <<<"$3"
  if [ "${#words[@]}" = 3 ]; then
    mkdir -p "$1${words[2]}"
    cp -a "${stages[${words[0]#--from=}]}${words[1]}." "$1${words[2]}"
  else
    tar -C "$root$tree/${words[0]}" --exclude-from=.containerignore -c . | tar -C "$1$2/${words[1]}" -x
  fi
}
