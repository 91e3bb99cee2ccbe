package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/run"
)

// maxKey is the longest Idempotency-Key, in bytes.
const maxKey = 200

// keyOf reads the Idempotency-Key of a request.
func keyOf(ctx context.Context, route, body string) (run.Key, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	values := md.Get("idempotency-key")
	if len(values) == 0 || values[0] == "" {
		return run.Key{}, nil
	}
	if len(values[0]) > maxKey {
		return run.Key{}, rpcerr.InvalidArgument("Idempotency-Key", fmt.Sprintf("it has %d bytes; at most %d are taken", len(values[0]), maxKey))
	}
	return run.Key{Route: route, Key: values[0], BodySHA256: body}, nil
}

// bodyOf is what an idempotency key is bound to. Whether the answer is streamed
// is not part of what is asked.
func bodyOf(req proto.Message) string {
	switch r := req.(type) {
	case *pb.SendMessageRequest:
		req = &pb.StreamMessageRequest{ConversationId: r.ConversationId, Content: r.Content, ToolsEnabled: r.ToolsEnabled, Model: r.Model}
	case *pb.StreamMessageRequest:
		req = &pb.StreamMessageRequest{ConversationId: r.ConversationId, Content: r.Content, ToolsEnabled: r.ToolsEnabled, Model: r.Model}
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(req)
	if err != nil {
		panic(err) // a message that was received can be written
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
