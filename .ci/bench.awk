# Turns the output of `go test -bench` into one JSON line a figure. Lines that
# are JSON already, such as the ratios a benchmark prints itself, are passed on.

BEGIN {
  metric["ns/op"] = "time"
  metric["B/op"] = "memory"
  metric["allocs/op"] = "allocations"
  metric["MB/s"] = "throughput"
}

/^\{/ { print; next }

$1 == "pkg:" { package = $2; sub(/^.*\/nanoclaw\//, "", package); next }

# BenchmarkName-2  1000  1234 ns/op  56 B/op  3 allocs/op
/^Benchmark/ && $2 ~ /^[0-9]+$/ {
  name = $1
  sub(/^Benchmark/, "", name)
  sub(/-[0-9]+$/, "", name)
  for (i = 3; i < NF; i += 2) {
    unit = $(i + 1)
    printf "{\"bench\":\"%s.%s\",\"metric\":\"%s\",\"value\":%s,\"unit\":\"%s\"}\n",
      package, name, (unit in metric) ? metric[unit] : unit, $i, unit
  }
  next
}

/^(goos|goarch|cpu):/ || /^(PASS|ok)/ { next }

{ print >"/dev/stderr" }
