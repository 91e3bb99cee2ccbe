package orchestrator

import (
	"cmp"
	"fmt"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
)

// newClient makes the client of a configured model. Runs, checks and probes all
// ask through what it makes, so that a check says what a run will meet. Errors
// name the model and the key to correct.
func newClient(m ModelConfig) (*provider.Client, error) {
	cfg, err := clientConfig(m)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", m.ID, err)
	}
	client, err := provider.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", m.ID, err)
	}
	return client, nil
}

// clientConfig says what the client of a configured model has to know.
func clientConfig(m ModelConfig) (provider.Config, error) {
	profile, err := provider.NamedProfile(m.Profile, m.APIURL)
	if err != nil {
		return provider.Config{}, err
	}
	return provider.Config{
		Model: cmp.Or(m.Model, m.ID), APIURL: m.APIURL, APIKey: m.APIKey, KeyOrigin: m.KeyOrigin, Headers: m.Headers,
		FirstByteTimeout: m.Timeout, IdleTimeout: m.Timeout, Profile: profile,
		Thinking: provider.Thinking(m.Thinking), ToolMode: provider.ToolMode(m.ToolMode),
	}, nil
}
