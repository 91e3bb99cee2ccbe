# shellcheck shell=bash
# Sourced by the scripts of this folder. Everything is compiled in one of two
# ways, so that nothing is compiled a third time: like the binary (CGO_ENABLED=0
# and -trimpath), or like the tests, with these flags. TEST_TAGS adds build tags.
build=("-tags=netgo,osusergo${TEST_TAGS:+,$TEST_TAGS}")
if command -v "$(go env CC)" >/dev/null; then
  export CGO_ENABLED=1
  build+=(-race)
else
  export CGO_ENABLED=0
fi
