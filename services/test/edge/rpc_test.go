package edge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	optionsv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/options/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

// maxAnswers is more than any stream of these tests has.
const maxAnswers = 500

// dial reaches the suite as another backend does: over TCP, with a client that
// knows nothing of our interceptors.
func dial(t testing.TB, addr string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// as is a context with the token and further metadata.
func as(ctx context.Context, token string, kv ...string) context.Context {
	if token != "" {
		kv = append(kv, "authorization", "Bearer "+token)
	}
	return metadata.NewOutgoingContext(ctx, metadata.Pairs(kv...))
}

// call makes a call and answers everything that came, as JSON, and its error.
func (m method) call(ctx context.Context, t testing.TB, conn *grpc.ClientConn, req proto.Message) (string, error) {
	t.Helper()
	if !m.streams && !m.sends {
		answer := newMessage(t, m.desc.Output())
		err := conn.Invoke(ctx, m.full, req, answer)
		return protojson.Format(answer), err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: m.streams, ClientStreams: m.sends}, m.full)
	if err != nil {
		return "", err
	}
	// A stream that was refused already says why when its answer is read.
	if err := errors.Join(stream.SendMsg(req), stream.CloseSend()); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if !m.streams {
		answer := newMessage(t, m.desc.Output())
		err := stream.RecvMsg(answer)
		return protojson.Format(answer), err
	}
	var text strings.Builder
	for range maxAnswers {
		answer := newMessage(t, m.desc.Output())
		if err := stream.RecvMsg(answer); errors.Is(err, io.EOF) {
			return text.String(), nil
		} else if err != nil {
			return text.String(), err
		}
		text.WriteString(protojson.Format(answer))
	}
	return text.String(), fmt.Errorf("more than %d answers", maxAnswers)
}

// requireStatus checks the code and reason of an error.
func requireStatus(t *testing.T, err error, code codes.Code, reason string) {
	t.Helper()
	if status.Code(err) != code || rpcerr.Reason(err) != reason {
		t.Errorf("error = %v (%s), want %s %s", err, rpcerr.Reason(err), code, reason)
	}
}

// infoOf is the ErrorInfo of an error.
func infoOf(err error) *errdetails.ErrorInfo {
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			return info
		}
	}
	return nil
}

// requireSame checks that nothing was stored, changed or deleted.
func requireSame(t *testing.T, before, after []string) {
	t.Helper()
	for _, line := range before {
		if !slices.Contains(after, line) {
			t.Errorf("changed or gone: %s", line)
		}
	}
	for _, line := range after {
		if !slices.Contains(before, line) {
			t.Errorf("new: %s", line)
		}
	}
}

// requireHidden checks that an answer says nothing of a person but what the
// request itself named.
func requireHidden(t *testing.T, p *person, asked, answer string) {
	t.Helper()
	for _, word := range append(p.all(), p.secret, p.Token) {
		if strings.Contains(answer, word) && !strings.Contains(asked, word) {
			t.Errorf("the answer shows %s of somebody else: %s", word, answer)
		}
	}
}

// spoof is metadata by which a stranger claims to be one of our processes
// acting for the owner.
func spoof(owner string) []string {
	return []string{
		"x-nanoclaw-user", owner, "x-nanoclaw-kind", "user", "x-nanoclaw-scopes", "*", "x-nanoclaw-token-id", "tok_x",
		"grpcgateway-authorization", "Bearer nc_x", "grpc-metadata-x-nanoclaw-user", owner,
	}
}

func TestThingsOfOthersAreNotFoundByAnyRPC(t *testing.T) {
	h := newHouse(t)
	conn := dial(t, h.suite.GRPCAddr())
	owner := h.suite.Owner().UserID
	for _, m := range methods(t) {
		if m.caller != optionsv1.Caller_CALLER_USER || len(m.ids()) == 0 || m.named() {
			continue
		}
		for _, name := range sorted(m.strangers(t, h)) {
			body := m.strangers(t, h)[name]
			for kind, claims := range map[string][]string{"": nil, " and a claim to be the owner": spoof(owner)} {
				t.Run(string(m.desc.FullName())+" with "+name+kind, func(t *testing.T) {
					req := m.request(t, body)
					before := world.Stored(t, h.Config.DataDir)
					answer, err := m.call(as(deadline(t), h.guest.Token, claims...), t, conn, req)
					requireStatus(t, err, codes.NotFound, "NOT_FOUND")
					requireHidden(t, &h.owner, protojson.Format(req), answer+status.Convert(err).String())
					requireSame(t, before, world.Stored(t, h.Config.DataDir))
				})
			}
		}
	}
}

func TestThingsOfOthersAreShownByNoRPC(t *testing.T) {
	h := newHouse(t)
	conn := dial(t, h.suite.GRPCAddr())
	for _, m := range methods(t) {
		if m.caller != optionsv1.Caller_CALLER_USER || len(m.ids()) > 0 {
			continue
		}
		body := m.fill(t, h, func(string) *person { return &h.owner })
		requests := map[string]map[string]any{"": body}
		if m.desc.Input().Fields().ByName("cursor") != nil {
			// A cursor is the id of the last thing of a page: one from elsewhere
			// must not lead there.
			for _, id := range h.owner.all() {
				requests[" after "+id] = with(body, "cursor", id)
			}
		}
		for _, name := range sorted(requests) {
			t.Run(string(m.desc.FullName())+name, func(t *testing.T) {
				req := m.request(t, requests[name])
				before := world.Stored(t, h.Config.DataDir)
				answer, err := m.call(as(deadline(t), h.guest.Token), t, conn, req)
				switch foreign := name != ""; {
				case foreign && status.Code(err) == codes.InvalidArgument: // no cursor of this list
				case err != nil:
					t.Fatal(err)
				default:
					requireHidden(t, &h.owner, protojson.Format(req), answer)
				}
				after := world.Stored(t, h.Config.DataDir)
				for _, line := range before {
					if !slices.Contains(after, line) {
						t.Errorf("changed or gone: %s", line)
					}
				}
			})
		}
	}
}

func with(body map[string]any, key string, value any) map[string]any {
	changed := map[string]any{key: value}
	for k, v := range body {
		if k != key {
			changed[k] = v
		}
	}
	return changed
}

func TestEveryRPCKnowsWhoMayCall(t *testing.T) {
	h := newHouse(t)
	conn := dial(t, h.suite.GRPCAddr())
	owner := h.suite.Owner().UserID
	before := world.Stored(t, h.Config.DataDir)
	for _, m := range methods(t) {
		t.Run(string(m.desc.FullName()), func(t *testing.T) {
			req := m.request(t, m.fill(t, h, func(string) *person { return &h.owner }))
			refused := func(ctx context.Context, code codes.Code, reason string) error {
				t.Helper()
				answer, err := m.call(ctx, t, conn, req)
				requireStatus(t, err, code, reason)
				requireHidden(t, &h.owner, protojson.Format(req), answer+status.Convert(err).String())
				return err
			}
			ctx := deadline(t)
			refused(as(ctx, ""), codes.Unauthenticated, "UNAUTHENTICATED")
			refused(as(ctx, "nc_of_nobody"), codes.Unauthenticated, "UNAUTHENTICATED")
			refused(as(ctx, "", spoof(owner)...), codes.Unauthenticated, "UNAUTHENTICATED")
			service := []string{"x-nanoclaw-kind", "service", "x-nanoclaw-service", "gateway", "x-nanoclaw-scopes", "*"}
			refused(as(ctx, "", service...), codes.Unauthenticated, "UNAUTHENTICATED")
			switch m.caller {
			case optionsv1.Caller_CALLER_SERVICE:
				// Not even for the owner, whose token has every scope.
				refused(as(ctx, h.owner.Token), codes.PermissionDenied, "SERVICE_ONLY")
				refused(as(ctx, h.owner.Token, service...), codes.PermissionDenied, "SERVICE_ONLY")
			case optionsv1.Caller_CALLER_USER:
				if m.scope == "" {
					return
				}
				token, ok := h.lacking[m.scope]
				if !ok {
					t.Fatalf("the scope %q is not among those of this test", m.scope)
				}
				for _, claims := range [][]string{nil, spoof(owner), service} {
					err := refused(as(ctx, token, claims...), codes.PermissionDenied, "SCOPE_MISSING")
					if named := infoOf(err).GetMetadata()["scope"]; named != m.scope {
						t.Errorf("the refusal names the scope %q, want %q", named, m.scope)
					}
				}
			default:
				t.Errorf("callers are %s: say who may call", m.caller)
			}
		})
	}
	requireSame(t, before, world.Stored(t, h.Config.DataDir))
}

func TestToolProvidersAreNotServedToTheOutside(t *testing.T) {
	h := newHouse(t)
	conn := dial(t, h.suite.GRPCAddr())
	for _, s := range services() {
		if string(s.FullName()) != toolProvider {
			continue
		}
		for i := range s.Methods().Len() {
			name := fmt.Sprintf("/%s/%s", s.FullName(), s.Methods().Get(i).Name())
			err := conn.Invoke(as(deadline(t), h.owner.Token), name, newMessage(t, s.Methods().Get(i).Input()), newMessage(t, s.Methods().Get(i).Output()))
			if status.Code(err) != codes.Unimplemented {
				t.Errorf("%s: %v, want UNIMPLEMENTED", name, err)
			}
		}
	}
}
