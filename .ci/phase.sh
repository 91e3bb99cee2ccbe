# shellcheck shell=bash
# Sourced by the scripts of this folder.

# phase TITLE COMMAND [ARGUMENT...] runs a command under a title and says how
# long it took. It answers with the command's exit status.
phase() {
  local title=$1 code=0 started=$SECONDS
  shift
  printf '\n== %s\n' "$title"
  "$@" || code=$?
  if [ "$code" -eq 0 ]; then
    printf '== %s: done in %d s\n' "$title" $((SECONDS - started))
  else
    printf '== %s: FAILED after %d s\n' "$title" $((SECONDS - started))
  fi
  return "$code"
}
