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
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/idempotency"
)

const (
	// keyHeader is the name that callers know; metadata has it in lower case.
	keyHeader = "Idempotency-Key"
	// maxKey is the longest key, in bytes.
	maxKey = 200
)

// keyOf reads the Idempotency-Key of a request.
func keyOf(ctx context.Context, route, body string) (idempotency.Key, error) {
	values := metadata.ValueFromIncomingContext(ctx, keyHeader)
	switch {
	case len(values) == 0:
		return idempotency.Key{}, nil
	case len(values) > 1 || values[0] == "":
		return idempotency.Key{}, rpcerr.InvalidArgument(keyHeader, "it must be one value that is not empty")
	case len(values[0]) > maxKey:
		return idempotency.Key{}, rpcerr.InvalidArgument(keyHeader, fmt.Sprintf("it has %d bytes; at most %d are taken", len(values[0]), maxKey))
	}
	return idempotency.Key{Route: route, Key: values[0], BodySHA256: body}, nil
}

// noKey refuses an Idempotency-Key where it could not keep its promise.
func noKey(ctx context.Context, why string) error {
	if len(metadata.ValueFromIncomingContext(ctx, keyHeader)) == 0 {
		return nil
	}
	return rpcerr.InvalidArgument(keyHeader, why)
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
