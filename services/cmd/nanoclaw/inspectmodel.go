package main

import (
	"errors"

	"github.com/nanoclaw/nanoclaw/services/cmd/nanoclaw/internal/jsonlines"
	"github.com/nanoclaw/nanoclaw/services/orchestrator"
)

func inspectStream(line []byte) (any, error) {
	var in orchestrator.StreamInput
	if err := jsonlines.Decode(line, &in); err != nil {
		return nil, err
	}
	var has struct{ Wire *string } // an empty body is an answer, too
	if err := jsonlines.Decode(line, &has); err != nil {
		return nil, err
	}
	if has.Wire == nil {
		return nil, errors.New("wire: is missing")
	}
	return orchestrator.InspectStream(in)
}

func inspectArgs(line []byte) (any, error) {
	var in struct {
		Name   string  `json:"name"`
		Input  *string `json:"input"`
		Finish string  `json:"finish"`
	}
	if err := jsonlines.Decode(line, &in); err != nil {
		return nil, err
	}
	if in.Input == nil {
		return nil, errors.New("input: is missing")
	}
	return orchestrator.InspectArgs(orchestrator.ArgsInput{Name: in.Name, Input: *in.Input, Finish: in.Finish}), nil
}
