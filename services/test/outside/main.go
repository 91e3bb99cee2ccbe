// Command outside asks NanoClaw something over gRPC and prints the answer as it
// is written: outside ADDRESS TOKEN TEXT.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	nanoclaw "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
)

func main() {
	address, token, text := os.Args[1], os.Args[2], os.Args[3]
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(err)
	defer conn.Close()
	ctx := metadata.AppendToOutgoingContext(context.Background(), "authorization", "Bearer "+token)
	client := nanoclaw.NewConversationServiceClient(conn)
	created, err := client.CreateConversation(ctx, &nanoclaw.CreateConversationRequest{})
	check(err)
	run, err := client.StreamMessage(ctx, &nanoclaw.StreamMessageRequest{ConversationId: created.GetConversation().GetId(), Content: text})
	check(err)
	for {
		event, err := run.Recv()
		check(err)
		switch e := event.GetEvent().(type) {
		case *nanoclaw.RunEvent_Message:
			fmt.Print(e.Message.GetContent())
		case *nanoclaw.RunEvent_Error:
			log.Fatal(e.Error.GetMessage())
		case *nanoclaw.RunEvent_Done:
			fmt.Println()
			return
		}
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
