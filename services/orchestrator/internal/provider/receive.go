package provider

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	openai "github.com/sashabaranov/go-openai"
)

// receive reads the frames of an answer into a. This is the one place where
// go-openai's stream is read, and it is read raw: its typed decoding loses a
// whole frame for one member of another type.
func (x *exchange) receive(ctx context.Context, stream *openai.ChatCompletionStream, a *assembler, yield func(Delta) error) error {
	var (
		stopped   error // what yield returned
		badFrames int
		answered  bool
		reader    chunkReader
	)
	emit := func(d Delta) error {
		stopped = yield(d)
		return stopped
	}
	for {
		frame, err := stream.RecvRaw()
		if err != nil {
			if err := a.end(emit); err != nil {
				return err
			}
			return x.end(ctx, err, a, answered)
		}
		c, err := reader.read(frame)
		if err != nil {
			if badFrames++; badFrames > maxBadFrames {
				return x.client.explain.malformed(x.status, "the stream is not made of JSON objects", err)
			}
			a.warn("an unreadable frame of the stream was skipped")
			continue
		}
		if raw := c.failure(); raw != nil {
			_ = a.add(c, emit) // what the last frame carried beside the error
			_ = a.end(emit)
			return x.failed(raw)
		}
		answered = answered || len(c.Choices) > 0
		if err := a.add(c, emit); err != nil {
			if stopped != nil {
				return stopped
			}
			return x.explain(ctx, err)
		}
	}
}

// end decides what the end of the stream means: an answer is whole when the
// provider said why it stopped, or at least sent [DONE].
func (x *exchange) end(ctx context.Context, err error, a *assembler, answered bool) error {
	done := errors.Is(err, io.EOF)
	lost := !done && !a.finished() || !answered
	switch {
	case ctx.Err() != nil && !done:
		return x.client.explain.cancelled(ctx)
	case brokenOff(a.finish):
		return x.failed(json.RawMessage(`{"message":"the provider broke off the answer"}`))
	case lost && done:
		return x.client.explain.truncated(x.status, errNoChoices)
	case lost:
		return x.explain(ctx, err)
	case !done:
		a.warn("the stream ended without [DONE]")
	case !a.finished():
		a.warn("the stream ended without a finish reason")
	}
	return nil
}

// errNoChoices ends a stream that was finished before it held any answer.
var errNoChoices = errors.New("the stream holds no answer")

// failed explains an error that came inside an answer.
func (x *exchange) failed(raw json.RawMessage) *Error {
	e := x.client.explain.answered(x.status, nil, readFailure(raw))
	e.RequestID = x.requestID
	return e
}
