package isolate

import "fmt"

// byteWords is a limit in the unit in which people give it.
func byteWords(n int64) string {
	for _, unit := range []struct {
		shift uint
		name  string
	}{{30, "GiB"}, {20, "MiB"}, {10, "KiB"}} {
		if n > 0 && n%(1<<unit.shift) == 0 {
			return fmt.Sprintf("%d %s", n>>unit.shift, unit.name)
		}
	}
	switch {
	case n == 1:
		return "1 byte"
	case n >= 1<<20: // what is left of a workspace is never round
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d bytes", n)
}
