package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/pause"
)

const (
	openTime  = 60 * time.Second // in which all streams of a load must be open
	lookEvery = 20 * time.Millisecond
)

// streamed is one load measured.
type streamed struct {
	readings
	// What the suite, or the plain reader, used in the middle of the window, and
	// the chunks that the provider sent in the same time.
	cpu, waited time.Duration
	sent        int64
	opened      int64 // bytes of memory that the open streams took
}

// streams measures how long a chunk takes from the provider to the reader, what
// it costs, and what live streams hold: asked with go-openai itself, through the
// suite over gRPC, and through its gateway over SSE.
func (b *bench) streams(ctx context.Context) error {
	provider, err := startProvider(ctx)
	if err != nil {
		return err
	}
	defer provider.stop()
	plain := map[int]streamed{}
	for _, l := range b.plan.loads {
		got, err := provider.measure(ctx, nil, "openai", l)
		if err != nil {
			return err
		}
		plain[l.streams] = got
		if err := printAll(append(latencies("go-openai", l, got, streamed{}), costs("go-openai", l, got)...)...); err != nil {
			return err
		}
	}
	for _, kind := range []string{"grpc", "sse"} {
		if err := b.streamsOf(ctx, provider, kind, plain); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
	}
	return nil
}

// streamsOf measures one kind on a process of its own.
func (b *bench) streamsOf(ctx context.Context, provider remoteProvider, kind string, plain map[int]streamed) error {
	s, err := b.serve(ctx, provider.url()+"/v1")
	if err != nil {
		return err
	}
	defer s.stop()
	if _, _, err := s.idle(ctx); err != nil {
		return err
	}
	for i, l := range b.plan.loads {
		got, err := provider.measure(ctx, s, kind, l)
		if err != nil {
			return err
		}
		figures := latencies(kind, l, got, plain[l.streams])
		figures = append(figures, costs(kind, l, got)...)
		if i == 0 {
			figures = append(figures, figure{Bench: name(kind, l), Metric: "rss of 1,000 streams", Value: float64(got.opened) / mebibyte * 1000 / float64(l.streams), Unit: "MiB"})
		}
		if err := printAll(figures...); err != nil {
			return err
		}
	}
	return nil
}

func name(kind string, l load) string {
	return fmt.Sprintf("stream %s streams=%d every=%s", kind, l.streams, l.every)
}

// latencies are the figures of a load, with what is added to plain if there is
// something to compare with.
func latencies(kind string, l load, got, plain streamed) []figure {
	if l.saturating {
		return nil
	}
	figures := []figure{
		{Bench: name(kind, l), Metric: "provider to reader p50", Value: milliseconds(got.P50), Unit: "ms"},
		{Bench: name(kind, l), Metric: "provider to reader p99", Value: milliseconds(got.P99), Unit: "ms"},
	}
	if plain.Chunks == 0 {
		return figures
	}
	to := name("go-openai", l)
	return append(figures,
		figure{Bench: name(kind, l), Metric: "added p50", Value: milliseconds(got.P50 - plain.P50), Unit: "ms", RatioTo: to},
		figure{Bench: name(kind, l), Metric: "added p99", Value: milliseconds(got.P99 - plain.P99), Unit: "ms", RatioTo: to},
	)
}

// costs are what a load took of the suite, or of a reader that asks without it,
// how long it stood ready while others had the CPUs, which explains times on a
// busy machine, and in how many pieces the chunks came: those for a busy reader
// are joined.
func costs(kind string, l load, got streamed) []figure {
	return []figure{
		{Bench: name(kind, l), Metric: "chunks a CPU second", Value: got.perCPU(), Unit: "chunks/s"},
		{Bench: name(kind, l), Metric: "waited for a CPU", Value: microseconds(got.waited) / float64(max(got.sent, 1)), Unit: "µs/chunk"},
		{Bench: name(kind, l), Metric: "chunks a piece", Value: float64(got.Chunks) / float64(got.Pieces), Unit: "chunks"},
	}
}

// perCPU is how many chunks a second of CPU carried.
func (s streamed) perCPU() float64 { return float64(s.sent) / max(s.cpu, clockTick).Seconds() }

// measure opens the streams of a load in a reader process, lets the provider
// write, and waits for what the reader tells. s is nil when the suite is not
// asked.
func (p remoteProvider) measure(ctx context.Context, s *server, kind string, l load) (got streamed, err error) {
	args := []string{"read", "-kind", kind, "-streams", fmt.Sprint(l.streams), "-addr", p.url()}
	var before usage
	if s != nil {
		args = append(args, "-addr", s.grpc, "-web", s.http, "-tokens", s.tokenFile)
		if before, err = s.usage(); err != nil {
			return got, err
		}
	}
	reader, err := role(ctx, args...)
	if err != nil {
		return got, err
	}
	defer reader.stop()
	use := reader // whose use is measured
	if s != nil {
		use = s.process
	}
	if err := p.await(ctx, l.streams); err != nil {
		return got, fmt.Errorf("open %d streams: %w", l.streams, err)
	}
	if err := pause.For(ctx, settled); err != nil {
		return got, err
	}
	opened, err := use.usage()
	if err != nil {
		return got, err
	}
	got.opened = opened.rss - before.rss
	if err := p.begin(ctx, l); err != nil {
		return got, err
	}
	if err := p.middle(ctx, use, l, &got); err != nil {
		return got, err
	}
	text, err := reader.stdout.ReadBytes('\n')
	if err != nil {
		reader.kill()
		return got, fmt.Errorf("reader: %w", reader.failure())
	}
	return got, json.Unmarshal(text, &got.readings)
}

// middle measures the middle of a window, in which streams neither begin nor
// end.
func (p remoteProvider) middle(ctx context.Context, use *process, l load, got *streamed) (err error) {
	edge := l.window / 6
	var at [2]usage
	var status [2]providerStatus
	for i, wait := range []time.Duration{edge, l.window - 2*edge} {
		if err := pause.For(ctx, wait); err != nil {
			return err
		}
		if at[i], err = use.usage(); err != nil {
			return err
		}
		if status[i], err = p.status(ctx); err != nil {
			return err
		}
	}
	got.cpu, got.waited = at[1].cpu-at[0].cpu, at[1].waited-at[0].waited
	got.sent = status[1].Sent - status[0].Sent
	return nil
}

// await returns when as many streams wait at the provider.
func (p remoteProvider) await(ctx context.Context, streams int) error {
	for late := time.Now().Add(openTime); ; {
		status, err := p.status(ctx)
		if err != nil {
			return err
		}
		if status.Waiting >= int64(streams) {
			return nil
		}
		if time.Now().After(late) {
			return fmt.Errorf("only %d of %d streams were open after %s", status.Waiting, streams, openTime)
		}
		if err := pause.For(ctx, lookEvery); err != nil {
			return err
		}
	}
}
