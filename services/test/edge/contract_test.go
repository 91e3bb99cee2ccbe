package edge

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"buf.build/go/protovalidate"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	optionsv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/options/v1"
	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

// toolProvider is served inside the process only: every provider serves it
// under the same name.
var toolProvider = toolv1.ToolProviderService_ServiceDesc.ServiceName

// method is one RPC of a contract.
type method struct {
	desc    protoreflect.MethodDescriptor
	full    string // "/package.Service/Method"
	streams bool   // the answer
	sends   bool   // the request is a stream, of which the tests send one message
	caller  optionsv1.Caller
	scope   string
	rules   []*annotations.HttpRule
}

// services lists every service of the contracts that are linked in.
func services() []protoreflect.ServiceDescriptor {
	var all []protoreflect.ServiceDescriptor
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		if strings.HasPrefix(string(file.Package()), "nanoclaw.") {
			for i := range file.Services().Len() {
				all = append(all, file.Services().Get(i))
			}
		}
		return true
	})
	slices.SortFunc(all, func(a, b protoreflect.ServiceDescriptor) int {
		return strings.Compare(string(a.FullName()), string(b.FullName()))
	})
	return all
}

// methods lists every RPC that is served to the outside.
func methods(t *testing.T) []method {
	t.Helper()
	var all []method
	for _, s := range services() {
		if string(s.FullName()) == toolProvider {
			continue
		}
		for i := range s.Methods().Len() {
			d := s.Methods().Get(i)
			m := method{desc: d, full: fmt.Sprintf("/%s/%s", s.FullName(), d.Name()), streams: d.IsStreamingServer(), sends: d.IsStreamingClient()}
			access := proto.GetExtension(d.Options(), optionsv1.E_Access).(*optionsv1.Access)
			m.caller, m.scope = access.GetCaller(), access.GetScope()
			if rule, _ := proto.GetExtension(d.Options(), annotations.E_Http).(*annotations.HttpRule); rule != nil {
				m.rules = append([]*annotations.HttpRule{rule}, rule.GetAdditionalBindings()...)
			}
			all = append(all, m)
		}
	}
	if len(all) < 20 {
		t.Fatalf("only %d methods found: are the contracts linked in?", len(all))
	}
	return all
}

// isID says that a field holds the id of a thing.
func isID(f protoreflect.FieldDescriptor) bool {
	name := string(f.Name())
	return name == "id" || strings.HasSuffix(name, "_id") || strings.HasSuffix(name, "_ids")
}

// ids are the names of the fields of the request that hold ids.
func (m method) ids() []string { return idsOf(m.desc.Input()) }

func idsOf(in protoreflect.MessageDescriptor) []string {
	var names []string
	for i := range in.Fields().Len() {
		switch f := in.Fields().Get(i); {
		case isID(f):
			names = append(names, string(f.Name()))
		case isPart(f):
			names = append(names, idsOf(f.Message())...)
		}
	}
	return names
}

// isPart says that a field holds a message of our own, which is filled like the
// request itself.
func isPart(f protoreflect.FieldDescriptor) bool {
	return f.Message() != nil && !f.IsList() && !f.IsMap() && strings.HasPrefix(string(f.Message().FullName()), "nanoclaw.")
}

// named says that a request names a thing that is its caller's whatever its
// name: somebody else's of the same name is another one.
func (m method) named() bool {
	return m.desc.Name() == "UploadFile" || m.desc.Name() == "Execute"
}

// leaveOut marks a field that cannot stand beside the others.
type leaveOut struct{}

// values are what fields without ids are filled with, by "Message.field" or
// "field". The value may depend on whose things are meant.
func values(h *house, whose *person) map[string]any {
	return map[string]any{
		"after_seq":                 0,
		"allowed_domains":           leaveOut{}, // not together with blocked_domains
		"arguments":                 map[string]any{"result_id": whose.ids["result_id"]},
		"arguments_json":            leaveOut{}, // not together with arguments
		"blocked_domains":           []string{"example.com"},
		"cache":                     "refresh",
		"city":                      "London",
		"confirm_args_sha256":       leaveOut{}, // of an answer
		"content":                   "Hello",
		"country":                   "GB",
		"content_type":              "text/plain",
		"cursor":                    leaveOut{}, // of an answer; tested apart
		"days":                      7,
		"expires_in_days":           1,
		"code":                      "true",
		"data":                      leaveOut{}, // the first message names the file
		"effect_key":                leaveOut{},
		"extract_type":              "text",
		"final":                     true,
		"freshness":                 "year",
		"keep_existing":             false,
		"language":                  "bash",
		"latitude":                  51.5,
		"longitude":                 -0.1,
		"max_tokens":                1024,
		"max_urls":                  1,
		"page":                      1,
		"pages":                     leaveOut{},
		"parallel":                  1,
		"part":                      1,
		"passages":                  false,
		"path":                      fileName,
		"recursive":                 false,
		"region":                    "GB",
		"safe_search":               "moderate",
		"status":                    leaveOut{}, // all of them
		"stdin":                     leaveOut{},
		"timeout_ms":                1000,
		"timezone":                  "Europe/London",
		"urls":                      []string{"no address"}, // the task ends when it begins
		"wait_ms":                   0,
		"ListFilesRequest.path":     leaveOut{}, // the workspace itself
		"limit":                     100,        // all there is
		"max_chars":                 1000,
		"max_results":               3,
		"message":                   "Hello",
		"mode":                      "single",
		"model":                     world.ModelID,
		"name":                      "a name",
		"news":                      false,
		"offset":                    0,
		"provider":                  "bing",
		"providers":                 leaveOut{}, // not together with provider
		"published_from":            leaveOut{}, // not together with freshness
		"published_to":              leaveOut{},
		"query":                     "nanoclaws",
		"scopes":                    []string{"chat"},
		"stream":                    true,
		"strict_options":            false,
		"system_prompt":             "Be brief.",
		"title":                     "A title",
		"token":                     whose.Token,
		"tools_enabled":             false,
		"url":                       h.Site.URL + "/article",
		"InvokeToolRequest.name":    "read_result",
		"SearchRequest.language":    "en",
		"SendMessageRequest.stream": false,
	}
}

// fill makes the members of a request in which each id is of whom whose names
// for it.
func (m method) fill(t testing.TB, h *house, whose func(field string) *person) map[string]any {
	t.Helper()
	return fill(t, h, m.desc.Input(), whose)
}

func fill(t testing.TB, h *house, in protoreflect.MessageDescriptor, whose func(field string) *person) map[string]any {
	t.Helper()
	body := map[string]any{}
	for i := range in.Fields().Len() {
		f := in.Fields().Get(i)
		name := string(f.Name())
		owner := whose(name)
		if isID(f) {
			id, ok := owner.ids[name]
			if !ok {
				t.Fatalf("%s.%s: no such thing is made by furnish: make one and put it into ids[%q]", in.FullName(), name, name)
			}
			if body[name] = any(id); f.IsList() {
				body[name] = []string{id}
			}
			continue
		}
		if isPart(f) {
			body[name] = fill(t, h, f.Message(), whose)
			continue
		}
		known := values(h, owner)
		value, ok := known[string(in.Name())+"."+name]
		if !ok {
			value, ok = known[name]
		}
		if !ok {
			t.Fatalf("%s.%s: it is not known how to fill this field: add it to values", in.FullName(), name)
		}
		if value != (any)(leaveOut{}) {
			body[name] = value
		}
	}
	return body
}

// request turns members into a valid request.
func (m method) request(t testing.TB, body map[string]any) proto.Message {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req := newMessage(t, m.desc.Input())
	if err := protojson.Unmarshal(raw, req); err != nil {
		t.Fatalf("fill %s: %v", m.desc.Input().FullName(), err)
	}
	if err := protovalidate.Validate(req); err != nil {
		t.Fatalf("fill %s: %v", m.desc.Input().FullName(), err)
	}
	return req
}

func newMessage(t testing.TB, d protoreflect.MessageDescriptor) proto.Message {
	t.Helper()
	typ, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		t.Fatal(err)
	}
	return typ.New().Interface()
}

// strangers are the requests of the guest that name things of the owner: all
// ids foreign, and where there are several, each one alone.
func (m method) strangers(t testing.TB, h *house) map[string]map[string]any {
	t.Helper()
	all := map[string]map[string]any{
		"all ids foreign": m.fill(t, h, func(string) *person { return &h.owner }),
	}
	names := m.ids()
	for _, foreign := range names {
		if len(names) > 1 {
			all["foreign "+foreign] = m.fill(t, h, func(field string) *person {
				if field == foreign {
					return &h.owner
				}
				return &h.guest
			})
		}
	}
	return all
}

// sorted gives the keys of a map in order.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
