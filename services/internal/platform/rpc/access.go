package rpc

import (
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	optionsv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/options/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// Reasons of refusals.
const (
	// ReasonScopeMissing: the token lacks the scope in metadata "scope".
	ReasonScopeMissing = "SCOPE_MISSING"
	// ReasonServiceOnly: the method is for services of the deployment.
	ReasonServiceOnly = "SERVICE_ONLY"
)

// rule is the access option of a method.
type rule struct {
	caller optionsv1.Caller
	scope  string
}

// check says whether p may call.
func (r rule) check(p auth.Principal) error {
	if r.caller == optionsv1.Caller_CALLER_SERVICE && p.Kind != auth.KindService {
		return rpcerr.New(codes.PermissionDenied, ReasonServiceOnly,
			"this method is for services of the deployment and cannot be called with a user's token")
	}
	if !p.Has(r.scope) {
		return rpcerr.New(codes.PermissionDenied, ReasonScopeMissing,
			"this needs a token with the scope %q; yours has: %s", r.scope, orNone(p.Scopes)).
			WithMeta("scope", r.scope)
	}
	return nil
}

func orNone(scopes []string) string {
	if len(scopes) == 0 {
		return "none"
	}
	return strings.Join(scopes, ", ")
}

// rules reads access options from the linked descriptors and keeps them. A
// method without the option, or unknown to the registry, is for users.
type rules struct{ byMethod sync.Map } // full method → rule; only registered methods come here

func (r *rules) of(fullMethod string) rule {
	if known, ok := r.byMethod.Load(fullMethod); ok {
		return known.(rule)
	}
	found := readRule(fullMethod)
	r.byMethod.Store(fullMethod, found)
	return found
}

func readRule(fullMethod string) rule {
	users := rule{caller: optionsv1.Caller_CALLER_USER}
	m := methodDescriptor(fullMethod)
	if m == nil || !proto.HasExtension(m.Options(), optionsv1.E_Access) {
		return users
	}
	access := proto.GetExtension(m.Options(), optionsv1.E_Access).(*optionsv1.Access)
	found := rule{caller: access.GetCaller(), scope: access.GetScope()}
	if found.caller == optionsv1.Caller_CALLER_UNSPECIFIED {
		found.caller = optionsv1.Caller_CALLER_USER
	}
	return found
}

// methodDescriptor finds "/package.Service/Method" among the linked protos, nil
// when it is not there.
func methodDescriptor(fullMethod string) protoreflect.MethodDescriptor {
	service, name := splitMethod(fullMethod)
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
	if err != nil {
		return nil
	}
	s, ok := found.(protoreflect.ServiceDescriptor)
	if !ok {
		return nil
	}
	return s.Methods().ByName(protoreflect.Name(name))
}

// splitMethod takes "/package.Service/Method" apart.
func splitMethod(fullMethod string) (service, name string) {
	service, name, _ = strings.Cut(strings.TrimPrefix(fullMethod, "/"), "/")
	return service, name
}
