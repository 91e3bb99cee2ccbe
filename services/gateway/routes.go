package gateway

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	sandboxv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/sandbox/v1"
	searchv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/search/v1"
	taskmanagerv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
)

// served are the services whose HTTP rules the gateway serves.
func served() []string {
	return []string{
		orchestratorv1.ConversationService_ServiceDesc.ServiceName,
		orchestratorv1.RunService_ServiceDesc.ServiceName,
		orchestratorv1.ToolService_ServiceDesc.ServiceName,
		orchestratorv1.IdentityService_ServiceDesc.ServiceName,
		orchestratorv1.AccountService_ServiceDesc.ServiceName,
		searchv1.SearchService_ServiceDesc.ServiceName,
		fetcherv1.FetcherService_ServiceDesc.ServiceName,
		taskmanagerv1.CrawlTaskService_ServiceDesc.ServiceName,
		sandboxv1.WorkspaceService_ServiceDesc.ServiceName,
	}
}

// route is one HTTP rule of a contract.
type route struct {
	method, pattern string
	streams         bool     // the answer is a stream of events
	hasBody         bool     // the request is read from the body
	parameters      []string // names that the query may have
}

// parameters are the names of the fields that the query of a rule may set, as
// the contract and as JSON write them. A rule whose body is the whole request
// has none.
func parameters(r *annotations.HttpRule, pattern string, request protoreflect.MessageDescriptor) []string {
	var names []string
	if r.GetBody() == "*" {
		return nil
	}
	for i := range request.Fields().Len() {
		f := request.Fields().Get(i)
		if name := f.TextName(); name != r.GetBody() && !strings.Contains(pattern, "{"+name+"}") {
			names = append(names, name, f.JSONName())
		}
	}
	return names
}

// routes reads the HTTP rules of services from their descriptors.
func routes(services []string) ([]route, error) {
	var all []route
	for _, name := range services {
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
		if err != nil {
			return nil, fmt.Errorf("routes of %s: %w", name, err)
		}
		methods := d.(protoreflect.ServiceDescriptor).Methods()
		for i := range methods.Len() {
			m := methods.Get(i)
			rule, _ := proto.GetExtension(m.Options(), annotations.E_Http).(*annotations.HttpRule)
			for _, r := range append([]*annotations.HttpRule{rule}, rule.GetAdditionalBindings()...) {
				if method, pattern := binding(r); pattern != "" {
					all = append(all, route{method, pattern, m.IsStreamingServer(), r.GetBody() != "", parameters(r, pattern, m.Input())})
				}
			}
		}
	}
	return all, nil
}

func binding(r *annotations.HttpRule) (method, pattern string) {
	switch p := r.GetPattern().(type) {
	case *annotations.HttpRule_Get:
		return "GET", p.Get
	case *annotations.HttpRule_Post:
		return "POST", p.Post
	case *annotations.HttpRule_Put:
		return "PUT", p.Put
	case *annotations.HttpRule_Patch:
		return "PATCH", p.Patch
	case *annotations.HttpRule_Delete:
		return "DELETE", p.Delete
	}
	return "", ""
}

// allowed lists the methods that have a route for path, for the Allow header of
// a 405.
func allowed(all []route, path string) []string {
	var methods []string
	for _, r := range all {
		if matches(r.pattern, path) && !slices.Contains(methods, r.method) {
			methods = append(methods, r.method)
		}
	}
	slices.Sort(methods)
	return methods
}

// matches says whether path fits a pattern whose variables are one segment each.
func matches(pattern, path string) bool {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	return slices.EqualFunc(want, got, func(want, got string) bool {
		return want == got || (strings.HasPrefix(want, "{") && got != "")
	})
}
