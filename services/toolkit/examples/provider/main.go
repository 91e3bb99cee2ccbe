// Provider is a whole tool provider: one tool, served over TCP. Start it, and
// give its address to NanoClaw:
//
//	go run ./examples/provider -addr 127.0.0.1:50051
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"google.golang.org/grpc"

	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

type countInput struct {
	Text string `json:"text" jsonschema:"the text whose words are counted"`
}

func wordCount(_ context.Context, _ *toolkit.Call, in countInput) (toolkit.Result, error) {
	return toolkit.JSON(map[string]any{"success": true, "words": len(strings.Fields(in.Text))}), nil
}

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "address to listen on")
	flag.Parse()
	if err := serve(*addr); err != nil {
		log.Fatal(err)
	}
}

func serve(addr string) error {
	provider := toolkit.New(toolkit.Config{Name: "words"})
	if err := toolkit.Add(provider, toolkit.Tool{
		Name: "word_count", Description: "Counts the words of a text.",
		Effect: toolkit.EffectPure, Sink: toolkit.SinkRead,
	}, wordCount); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	provider.Register(server)

	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-stop
		_ = provider.Close()
		server.GracefulStop()
	}()
	fmt.Println("ready", listener.Addr())
	return server.Serve(listener)
}
