package fetcher

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

func (s *site) call(t *testing.T, args string) (toolkit.Outcome, map[string]any) {
	t.Helper()
	got, err := toolkit.Invoke(context.Background(), s.tools, &toolv1.CallToolRequest{Name: toolName, ArgumentsJson: args}, toolkit.InvokeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal([]byte(got.ContentJSON), &v); err != nil {
		t.Fatalf("%v in %s", err, got.ContentJSON)
	}
	return got, v
}

func TestFetchPageIsDescribed(t *testing.T) {
	s := newSite(t, serveBody("text/html", newsPage))
	list, err := s.tools.ListTools(context.Background(), &toolv1.ListToolsRequest{})
	if err != nil || len(list.GetTools()) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	tool := list.GetTools()[0]
	if tool.GetName() != "fetch_page" || tool.GetEffect() != "pure" || tool.GetSink() != "read" || !tool.GetOutputUntrusted() || tool.GetDefaultTimeout().AsDuration() != toolTimeout {
		t.Errorf("tool %v", tool)
	}
	schema := tool.GetParameters().AsMap()
	if req := schema["required"]; !reflect.DeepEqual(req, []any{"url"}) {
		t.Errorf("required %v", req)
	}
	kind := schema["properties"].(map[string]any)["extract_type"].(map[string]any)
	if kind["default"] != "text" || !reflect.DeepEqual(kind["enum"], []any{"text", "markdown", "links", "images", "structured", "tables", "metadata", "feed", "raw", "full_text"}) {
		t.Errorf("extract_type %v", kind)
	}
}

func TestFetchPageAnswersWithOneView(t *testing.T) {
	s := newSite(t, serveBody("text/html; charset=utf-8", newsPage))
	got, v := s.call(t, fmt.Sprintf(`{"url": %q, "extract_type": "links"}`, s.url))
	want := map[string]any{
		"success": true, "url": s.url, "truncated": false,
		"content": map[string]any{"links": []any{
			map[string]any{"text": "Home", "url": s.url + "/home"}, map[string]any{"text": "baker", "url": s.url + "/baker?x=1"}}},
		"metadata": map[string]any{"title": "Harbour news", "status_code": 200.0, "content_type": "text/html; charset=utf-8",
			"detected_type": "text/html", "final_url": s.url, "charset": "utf-8", "language": "en"},
	}
	if got.IsError || !reflect.DeepEqual(v, want) {
		t.Errorf("got  %v\nwant %v", v, want)
	}
	if !reflect.DeepEqual(got.Origins, []string{"fetch_page:127.0.0.1"}) {
		t.Errorf("origins %q", got.Origins)
	}
	for _, kind := range []string{"text", "images", "structured"} {
		_, v := s.call(t, fmt.Sprintf(`{"url": %q, "extract_type": %q}`, s.url, kind))
		if c := v["content"].(map[string]any); len(c) != 1 || c[kind] == nil {
			t.Errorf("%s: content %v", kind, c)
		}
	}
}

func TestFetchPageClampsAndSaysSo(t *testing.T) {
	s := newSite(t, serveBody("text/html", "<p>"+strings.Repeat("word ", 10_000)))
	_, v := s.call(t, fmt.Sprintf(`{"url": %q, "max_chars": 999999}`, s.url))
	text := v["content"].(map[string]any)["text"].(string)
	if len(text) != toolMaxChars || v["truncated"] != true || v["next_offset"] != float64(toolMaxChars) {
		t.Errorf("%d characters, truncated %v, next %v", len(text), v["truncated"], v["next_offset"])
	}
	if w := fmt.Sprint(v["warnings"]); !strings.Contains(w, "arguments: ") || !strings.Contains(w, "max_chars") {
		t.Errorf("warnings %s", w)
	}
}

func TestFetchPageFailsInWords(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/missing" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		serveBody("video/mp4", "\x00\x00\x00\x18ftypmp42")(w, r)
	})
	tests := []struct {
		name, url, reason string
		retryable         bool
	}{
		{"a private address", "http://10.0.0.1/", ReasonPrivateAddress, false},
		{"no address", "somewhere", ReasonURLRefused, false},
		{"a film", s.url + "/x.mp4", ReasonUnsupportedType, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, v := s.call(t, fmt.Sprintf(`{"url": %q}`, tt.url))
			e, _ := v["error"].(map[string]any)
			if !got.IsError || v["success"] != false || e["reason"] != tt.reason || e["retryable"] != tt.retryable || e["message"] == "" {
				t.Errorf("is_error %t, %v", got.IsError, v)
			}
		})
	}
	got, v := s.call(t, fmt.Sprintf(`{"url": %q}`, s.url+"/missing"))
	if got.IsError || v["success"] != true || v["metadata"].(map[string]any)["status_code"] != 404.0 {
		t.Errorf("404: is_error %t, %v", got.IsError, v)
	}
}

func TestAnAddressWithoutASchemeIsCompleted(t *testing.T) {
	for raw, want := range map[string]string{
		"example.com/a?b=c":   "https://example.com/a?b=c",
		" example.com ":       "https://example.com",
		"http://example.com":  "http://example.com",
		"/relative.html":      "/relative.html",
		"javascript:alert(1)": "javascript:alert(1)",
		"word":                "word",
	} {
		if got, _ := withScheme(raw); got != want {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
	}
}
