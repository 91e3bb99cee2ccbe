package rpc

import (
	"strings"
	"testing"
)

func FuzzBearer(f *testing.F) {
	for _, seed := range []string{"Bearer nc_abc", "bearer  nc_abc", "Bearer nc_", "Bearer", "Basic nc_abc", "Bearer nc_a b", "Bearer nc_\x00", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		token, ok := bearer([]string{header})
		if !ok {
			if token != "" {
				t.Fatalf("refused, but answered %q", token)
			}
			return
		}
		if !strings.HasSuffix(header, token) || strings.HasPrefix(token, " ") {
			t.Fatalf("%q gave the token %q", header, token)
		}
		if again, ok := bearer([]string{"Bearer " + token}); !ok || again != token {
			t.Fatalf("the token %q is not read again: %q, %v", token, again, ok)
		}
	})
}

func BenchmarkWarm(b *testing.B) {
	for b.Loop() {
		v, err := newRequestValidator()
		if err != nil {
			b.Fatal(err)
		}
		m := methodDescriptor("/nanoclaw.orchestrator.v1.IdentityService/CreateToken")
		all := m.ParentFile().Messages()
		messages := withNested(nil)
		for i := range all.Len() {
			messages = append(messages, all.Get(i))
		}
		if err := v.warm(messages); err != nil {
			b.Fatal(err)
		}
	}
}
