# Makes the output of `go test -v` readable: one line for a package that
# passed, everything that matters of one that failed, and at the end what was
# skipped, which also goes into the file `skips` as "package test reason". The
# whole output is in the file `whole`.
# Exits with 1 when something failed or nothing ran.

function forget() { kept = ""; pending = 0 }

BEGIN { printf "" >skips; forget() }

/^=== / || /^ *--- PASS: / { next }

/^ *--- SKIP: / {
  test[pending] = $3
  reason[pending++] = last
}

# The last line that a test printed before its verdict is its reason to skip.
{ last = $0; sub(/^ +/, "", last) }

/^(ok|FAIL|\?) *\t/ {
  split($0, column, "\t")
  for (i = 0; i < pending; i++) {
    skipped[all++] = column[2] " " test[i] "  " reason[i]
    print column[2], test[i] "  " reason[i] >skips
  }
  if ($1 == "ok") {
    passed++
    print
  } else if ($1 == "FAIL") {
    failed = failed "\n  " column[2]
    printf "%s%s\n", kept, $0
  }
  forget()
  next
}

# Verdicts without a package: its own line follows.
/^(PASS|FAIL)$/ { next }

{ kept = kept $0 "\n" }

END {
  printf "%s", kept
  for (i = 0; i < all; i++) print (i ? "" : "\nSkipped:\n") "  " skipped[i]
  if (failed) printf "\nFAIL:%s\nThe whole output is in %s\n", failed, whole
  else if (!passed) print "FAIL: no test ran"
  else printf "\nPASS: %d packages, %d tests skipped\n", passed, all
  exit (failed || !passed)
}
