package httpfetch

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

const page = "<!doctype html><title>t</title><p>Grüße aus der Küche, with enough text to compress."

func TestEveryContentCodingIsUndone(t *testing.T) {
	tests := []struct {
		name, header string
		body         []byte
	}{
		{"no coding", "", []byte(page)},
		{"identity", "identity", []byte(page)},
		{"gzip", "gzip", encode(t, "gzip", []byte(page))},
		{"x-gzip in capitals", "X-GZIP", encode(t, "gzip", []byte(page))},
		{"brotli", "br", encode(t, "br", []byte(page))},
		{"zstd", "zstd", encode(t, "zstd", []byte(page))},
		{"deflate as zlib", "deflate", encode(t, "deflate", []byte(page))},
		{"deflate as a bare stream", "deflate", encode(t, "raw deflate", []byte(page))},
		{"two codings, the last applied first", "br, gzip", encode(t, "gzip", encode(t, "br", []byte(page)))},
		{"gzip twice", "gzip, gzip", encode(t, "gzip", encode(t, "gzip", []byte(page)))},
		{"two gzip members", "gzip", append(encode(t, "gzip", []byte(page[:10])), encode(t, "gzip", []byte(page[10:]))...)},
		{"zeros behind a gzip member", "gzip", append(encode(t, "gzip", []byte(page)), make([]byte, 64)...)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if tt.header != "" {
					w.Header().Set("Content-Encoding", tt.header)
				}
				_, _ = w.Write(tt.body)
			})
			got := mustGet(t, clientFor(t, testConfig(), s), s.URL)
			if string(got.Body) != page || got.Truncated || len(got.Warnings) > 0 {
				t.Errorf("body %q, truncated %t, warnings %q", got.Body, got.Truncated, got.Warnings)
			}
			if got.RawBytes != int64(len(tt.body)) && !strings.Contains(tt.name, "zeros") {
				t.Errorf("%d raw bytes counted of %d", got.RawBytes, len(tt.body))
			}
		})
	}
}

func TestABodyThatIsNotInItsCodingIsReadAsItIs(t *testing.T) {
	for _, coding := range []string{"gzip", "zstd"} {
		t.Run(coding, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", coding)
				_, _ = w.Write([]byte(page))
			})
			got := mustGet(t, clientFor(t, testConfig(), s), s.URL)
			if string(got.Body) != page || len(got.Warnings) != 1 || !strings.HasPrefix(got.Warnings[0], "not_coded: ") {
				t.Errorf("body %q, warnings %q", got.Body, got.Warnings)
			}
		})
	}
}

func TestCompressionBombsAreRefused(t *testing.T) {
	zeros := bytes.Repeat([]byte{'0'}, 8*mib)
	tests := []struct {
		name, header string
		body         []byte
	}{
		{"gzip", "gzip", encode(t, "gzip", zeros)},
		{"brotli", "br", encode(t, "br", zeros)},
		{"zstd", "zstd", encode(t, "zstd", zeros)},
		{"deflate", "deflate", encode(t, "deflate", zeros)},
		{"gzip in gzip", "gzip, gzip", encode(t, "gzip", encode(t, "gzip", zeros))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", tt.header)
				_, _ = w.Write(tt.body)
			})
			e := mustFail(t, clientFor(t, testConfig(), s), s.URL, KindTooLarge)
			if e.Retryable || !strings.Contains(e.Message, "compression bomb") {
				t.Errorf("retryable %t, message %q", e.Retryable, e.Message)
			}
		})
	}
}

func TestCodingsThatCannotBeUndoneAreRefused(t *testing.T) {
	tests := []struct {
		name, header string
		body         []byte
		words        string
	}{
		{"three codings", "gzip, br, gzip", []byte("x"), "stacked"},
		{"an unknown coding", "compress", []byte("x"), "compress"},
		{"garbage as brotli", "br", []byte("\xff\xff\xff\xff\xff\xff\xff\xff"), "cannot be decoded"},
		{"a gzip header and nothing", "gzip", []byte("\x1f\x8b\x08\x00"), "cannot be decoded"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", tt.header)
				_, _ = w.Write(tt.body)
			})
			if e := mustFail(t, clientFor(t, testConfig(), s), s.URL, KindDecode); !strings.Contains(e.Message, tt.words) {
				t.Errorf("message %q", e.Message)
			}
		})
	}
}

func TestABodyThatBreaksOffKeepsWhatCame(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	long := make([]byte, 200_000)
	for i := range long {
		long[i] = "abcdefgh"[rng.IntN(8)]
	}
	tests := []struct {
		name, header string
		body         []byte
		announce     int
	}{
		{"gzip cut in the middle", "gzip", encode(t, "gzip", long)[:40_000], 0},
		{"zstd cut in the middle", "zstd", encode(t, "zstd", long)[:70_000], 0},
		{"brotli cut in the middle", "br", encode(t, "br", long)[:60_000], 0},
		{"a Content-Length longer than the body", "", long[:1000], 5000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if tt.header != "" {
					w.Header().Set("Content-Encoding", tt.header)
				}
				if tt.announce > 0 {
					w.Header().Set("Content-Length", strconv.Itoa(tt.announce))
				}
				_, _ = w.Write(tt.body)
			})
			got := mustGet(t, clientFor(t, testConfig(), s), s.URL)
			if !got.Truncated || len(got.Body) == 0 || !bytes.HasPrefix(long, got.Body) {
				t.Errorf("truncated %t, %d bytes", got.Truncated, len(got.Body))
			}
			if len(got.Warnings) != 1 || !strings.HasPrefix(got.Warnings[0], "body_broke_off: ") {
				t.Errorf("warnings %q", got.Warnings)
			}
		})
	}
}

func TestALongBodyIsCutAtTheLimit(t *testing.T) {
	cfg := testConfig()
	cfg.MaxRawBytes, cfg.MaxDecodedBytes = 1000, 3000
	rng := rand.New(rand.NewPCG(3, 4))
	text := make([]byte, 5000)
	for i := range text {
		text[i] = "ab"[rng.IntN(2)]
	}
	tests := []struct {
		name, header string
		body         []byte
		want         int
	}{
		{"at the raw limit", "", text, 1000},
		{"at the decoded limit", "gzip", encode(t, "gzip", text), 3000},
		{"a body of exactly the limit is whole", "", text[:1000], 1000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if tt.header != "" {
					w.Header().Set("Content-Encoding", tt.header)
				}
				_, _ = w.Write(tt.body)
			})
			got := mustGet(t, clientFor(t, cfg, s), s.URL)
			if len(got.Body) != tt.want || !bytes.HasPrefix(text, got.Body) {
				t.Errorf("%d bytes, want %d", len(got.Body), tt.want)
			}
			if whole := len(tt.body) == 1000; got.Truncated == whole {
				t.Errorf("truncated %t", got.Truncated)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	codings := []string{"gzip", "br", "zstd", "deflate"}
	for i, c := range codings {
		f.Add(encode(f, c, []byte(page)), uint8(i), uint8(4))
		f.Add(encode(f, "gzip", encode(f, c, []byte(page))), uint8(i), uint8(0))
	}
	f.Fuzz(func(t *testing.T, data []byte, first, second uint8) {
		stack := []string{codings[int(first)%len(codings)]}
		if int(second) < len(codings) {
			stack = append(stack, codings[second])
		}
		const limit = 1 << 16
		raw := &meter{r: bytes.NewReader(data), max: limit}
		dec, err := newDecoder(raw, stack, limit)
		if err != nil {
			return
		}
		defer dec.close()
		body, _, err := dec.readAll(raw, 0)
		if len(body) > limit {
			t.Errorf("%d bytes out of a limit of %d", len(body), limit)
		}
		if err == nil && raw.n > int64(len(data)) {
			t.Errorf("%d bytes read of %d", raw.n, len(data))
		}
	})
}
