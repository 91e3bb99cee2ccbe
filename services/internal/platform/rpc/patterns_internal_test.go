package rpc

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1" // their rules
	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	sandboxv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/sandbox/v1"
	searchv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/search/v1"
	_ "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
	_ "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

func TestATextOfAnotherPatternIsToldInWords(t *testing.T) {
	v, err := newRequestValidator()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		req  proto.Message
		want string
	}{
		{"a workspace", &sandboxv1.ListFilesRequest{WorkspaceId: "../a"}, "workspace_id: must be 1 to 64 letters, digits, - and _, and begin with a letter or digit"},
		{"a workspace that may be left out", &sandboxv1.ExecuteRequest{Language: "bash", Code: "x", WorkspaceId: "a b"}, "workspace_id: must be 1 to 64 letters, digits, - and _, and begin with a letter or digit"},
		{"a tool", &orchestratorv1.InvokeToolRequest{Name: "a b"}, "name: must be 1 to 64 letters, digits, - and _"},
		{"a hash", &orchestratorv1.InvokeToolRequest{Name: "a", ConfirmArgsSha256: "ABC"}, "confirm_args_sha256: must be a SHA-256 as 64 hexadecimal digits in lower case"},
		{"a day", &searchv1.SearchRequest{Query: "tea", PublishedFrom: "2025-01-01T00:00:00Z"}, "published_from: must be a day as 2006-01-02"},
		{"a name twice", &searchv1.SearchRequest{Query: "tea", Providers: []string{"bing", "bing"}}, "providers: must not have the same value twice"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := rpcerr.From(v.check(tc.req)).Message(); got != tc.want {
				t.Errorf("message = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestEveryPatternOfTheContractsHasWords(t *testing.T) {
	found := map[string]bool{}
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		if strings.HasPrefix(string(f.Package()), "nanoclaw.") {
			patternsOf(f.Messages(), found)
		}
		return true
	})
	if len(found) == 0 {
		t.Error("no pattern was found")
	}
	for pattern := range found {
		if patternWords[pattern] == "" {
			t.Errorf("the pattern %s has no words in patternWords", pattern)
		}
	}
	for pattern := range patternWords {
		if !found[pattern] {
			t.Errorf("no contract has the pattern %s any more", pattern)
		}
	}
}

// patternValue finds the patterns in the text form of rules, at any depth: those
// of elements and keys too.
var patternValue = regexp.MustCompile(`pattern:\s*("(?:[^"\\]|\\.)*")`)

func patternsOf(messages protoreflect.MessageDescriptors, found map[string]bool) {
	for i := range messages.Len() {
		m := messages.Get(i)
		patternsOf(m.Messages(), found)
		for j := range m.Fields().Len() {
			rules, _ := proto.GetExtension(m.Fields().Get(j).Options(), validate.E_Field).(*validate.FieldRules)
			for _, match := range patternValue.FindAllStringSubmatch(fmt.Sprint(rules), -1) {
				var pattern string
				if _, err := fmt.Sscanf(match[1], "%q", &pattern); err == nil {
					found[pattern] = true
				}
			}
		}
	}
}
