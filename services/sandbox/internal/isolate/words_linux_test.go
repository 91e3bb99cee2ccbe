package isolate

import "testing"

func TestLimitsInTheUnitOfPeople(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 bytes", 1: "1 byte", 1000: "1000 bytes", 1 << 10: "1 KiB", 100 << 10: "100 KiB",
		512 << 20: "512 MiB", 2 << 30: "2 GiB", 256<<20 - 5: "256.0 MiB", 1<<20 + 1<<19: "1536 KiB",
	} {
		if got := byteWords(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestNoDetailHasAPlainCountOfBytes(t *testing.T) {
	l := DefaultLimits()
	for _, tc := range []struct {
		name string
		e    evidence
		want string
	}{
		{"memory", evidence{exited: true, code: 137, oomKills: 1}, "it used more than 512 MiB of memory"},
		{"a file", evidence{exited: true, code: codeSIGXFSZ}, "it wrote a file of more than 256 MiB"},
		{"a folder in memory", evidence{exited: true, code: 1, tmpFull: true}, "a folder in memory was full: 64 MiB"},
	} {
		if v, _ := tc.e.decide(l); v.detail != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, v.detail, tc.want)
		}
	}
}
