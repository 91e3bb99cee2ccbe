package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
)

// unaryCallers call side by side.
const unaryCallers = 4

// way is one way to make a call.
type way struct {
	name   string
	server *process
	call   func(ctx context.Context, token string) error
	best   time.Duration // CPU of one call, client and server
}

// unary measures the CPU time of one call, client and server together, over
// plain grpc-go, our gRPC and our REST, of a small and of a large answer.
func (b *bench) unary(ctx context.Context) error {
	s, err := b.serve(ctx, noModel)
	if err != nil {
		return err
	}
	defer s.stop()
	tokens, err := readTokens(s.tokenFile)
	if err != nil {
		return err
	}
	conn, err := dial(s.grpc)
	if err != nil {
		return err
	}
	defer conn.Close()
	answers := &plainAnswers{}
	owned := withToken(ctx, tokens[0])
	if answers.models, err = pb.NewAccountServiceClient(conn).ListModels(owned, &pb.ListModelsRequest{}); err != nil {
		return err
	}
	if answers.tools, err = pb.NewToolServiceClient(conn).ListTools(owned, &pb.ListToolsRequest{}); err != nil {
		return err
	}
	plain, err := b.startPlain(ctx, answers)
	if err != nil {
		return err
	}
	defer plain.stop()
	plainConn, err := dial(plain.ready)
	if err != nil {
		return err
	}
	defer plainConn.Close()
	web := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: unaryCallers}}
	defer web.CloseIdleConnections()

	models := func(conn *grpc.ClientConn) func(context.Context, string) error {
		return func(ctx context.Context, token string) error {
			_, err := pb.NewAccountServiceClient(conn).ListModels(withToken(ctx, token), &pb.ListModelsRequest{})
			return err
		}
	}
	tools := func(conn *grpc.ClientConn) func(context.Context, string) error {
		return func(ctx context.Context, token string) error {
			_, err := pb.NewToolServiceClient(conn).ListTools(withToken(ctx, token), &pb.ListToolsRequest{})
			return err
		}
	}
	for _, m := range []struct {
		bench string
		ways  []*way
	}{
		{"unary ListModels", []*way{
			{name: "plain grpc-go", server: plain, call: models(plainConn)},
			{name: "grpc", server: s.process, call: models(conn)},
			{name: "rest", server: s.process, call: get(web, "http://"+s.http+"/api/models")},
		}},
		{"unary ListTools", []*way{
			{name: "plain grpc-go", server: plain, call: tools(plainConn)},
			{name: "grpc", server: s.process, call: tools(conn)},
			{name: "rest", server: s.process, call: get(web, "http://"+s.http+"/api/tools")},
		}},
	} {
		if err := b.byTurns(ctx, tokens, m.ways); err != nil {
			return err
		}
		cpu := func(i int) float64 { return microseconds(m.ways[i].best) }
		for i, w := range m.ways {
			if err := printAll(figure{Bench: m.bench, Metric: w.name + " cpu", Value: cpu(i), Unit: "µs/op"}); err != nil {
				return err
			}
		}
		err := printAll(
			figure{Bench: m.bench, Metric: "grpc cpu", Value: cpu(1) / cpu(0), Unit: "ratio", RatioTo: "plain grpc-go cpu"},
			figure{Bench: m.bench, Metric: "rest cpu", Value: cpu(2) / cpu(1), Unit: "ratio", RatioTo: "grpc cpu"},
		)
		if err != nil {
			return err
		}
	}
	return nil
}

// byTurns measures the ways, one after the other again and again, and keeps the
// best turn of each: what else a machine does only adds.
func (b *bench) byTurns(ctx context.Context, tokens []string, ways []*way) error {
	for _, w := range ways {
		w.best = math.MaxInt64
		for _, token := range tokens { // makes each of them known
			if err := w.call(ctx, token); err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
		}
	}
	for range b.plan.unaryTurns {
		for _, w := range ways {
			cpu, err := w.measure(ctx, tokens, b.plan.unaryTime)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			w.best = min(w.best, cpu)
		}
	}
	return nil
}

// measure makes calls for a time and returns the CPU time of one.
func (w *way) measure(ctx context.Context, tokens []string, d time.Duration) (time.Duration, error) {
	before, err := w.cpu()
	if err != nil {
		return 0, err
	}
	var calls atomic.Int64
	var failed atomic.Pointer[error]
	var callers sync.WaitGroup
	end := time.Now().Add(d)
	for range unaryCallers {
		callers.Go(func() {
			for failed.Load() == nil && time.Now().Before(end) {
				n := calls.Add(1)
				if err := w.call(ctx, tokens[int(n)%len(tokens)]); err != nil {
					failed.Store(&err)
				}
			}
		})
	}
	callers.Wait()
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	after, err := w.cpu()
	if err != nil {
		return 0, err
	}
	return (after - before) / time.Duration(calls.Load()), nil
}

// cpu is what client and server have used so far.
func (w *way) cpu() (time.Duration, error) {
	server, err := w.server.usage()
	if err != nil {
		return 0, err
	}
	own, err := ownCPU()
	return server.cpu + own, err
}

// get is a REST call whose answer is read and not understood: so is that of most
// callers who only pass it on.
func get(client *http.Client, address string) func(context.Context, string) error {
	return func(ctx context.Context, token string) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := client.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		var body bytes.Buffer
		if _, err := body.ReadFrom(res.Body); err != nil {
			return err
		}
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s: %s", address, res.Status, body.Bytes())
		}
		return nil
	}
}

// dial is a connection as another backend makes it.
func dial(addr string) (*grpc.ClientConn, error) {
	return grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
}

func withToken(ctx context.Context, token string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
}

// plainAnswers are the answers of a server that does nothing else.
type plainAnswers struct {
	pb.UnimplementedAccountServiceServer
	pb.UnimplementedToolServiceServer
	models *pb.ListModelsResponse
	tools  *pb.ListToolsResponse
}

func (p *plainAnswers) ListModels(context.Context, *pb.ListModelsRequest) (*pb.ListModelsResponse, error) {
	return p.models, nil
}

func (p *plainAnswers) ListTools(context.Context, *pb.ListToolsRequest) (*pb.ListToolsResponse, error) {
	return p.tools, nil
}

const modelsFile, toolsFile = "models.pb", "tools.pb"

// startPlain starts a server with the same answers as ours.
func (b *bench) startPlain(ctx context.Context, p *plainAnswers) (*process, error) {
	dir, err := os.MkdirTemp(b.dir, "plain-")
	if err != nil {
		return nil, err
	}
	for name, answer := range map[string]proto.Message{modelsFile: p.models, toolsFile: p.tools} {
		data, err := proto.Marshal(answer)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return nil, err
		}
	}
	return role(ctx, "plain", dir)
}

// bePlain serves on a free port, whose address it prints, with the answers in a
// folder.
func bePlain(ctx context.Context, args []string) error {
	ctx, cancel := untilStdinEnds(ctx)
	defer cancel()
	p := &plainAnswers{models: new(pb.ListModelsResponse), tools: new(pb.ListToolsResponse)}
	for name, answer := range map[string]proto.Message{modelsFile: p.models, toolsFile: p.tools} {
		data, err := os.ReadFile(filepath.Join(args[0], name))
		if err != nil {
			return err
		}
		if err := proto.Unmarshal(data, answer); err != nil {
			return err
		}
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	pb.RegisterAccountServiceServer(server, p)
	pb.RegisterToolServiceServer(server, p)
	context.AfterFunc(ctx, server.Stop)
	fmt.Println(lis.Addr())
	if err := server.Serve(lis); err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil {
		return err
	}
	return nil
}
