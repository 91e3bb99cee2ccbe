package orchestrator

import (
	"cmp"
	"fmt"
	"net/url"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/engine"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
)

// models are the configured models.
type models struct {
	byID    map[string]engine.Model
	ids     []string
	wire    []*pb.Model
	def     string
	clients []*provider.Client
}

func newModels(cfg Config) (*models, error) {
	m := &models{byID: map[string]engine.Model{}}
	for _, mc := range cfg.Models {
		client, err := provider.New(provider.Config{
			Model: cmp.Or(mc.Model, mc.ID), APIURL: mc.APIURL, APIKey: mc.APIKey, Headers: mc.Headers,
			FirstByteTimeout: mc.Timeout, IdleTimeout: mc.Timeout,
		})
		if err != nil {
			m.close()
			return nil, fmt.Errorf("model %s: %w", mc.ID, err)
		}
		window := cmp.Or(mc.ContextWindow, defaultContextWindow)
		m.clients = append(m.clients, client)
		m.byID[mc.ID] = engine.Model{
			ID: mc.ID, Name: cmp.Or(mc.Model, mc.ID), Provider: hostOf(mc.APIURL), ContextWindow: window, Streamer: client,
		}
		m.ids = append(m.ids, mc.ID)
		m.wire = append(m.wire, &pb.Model{Id: mc.ID, Name: cmp.Or(mc.Name, mc.ID), ContextWindow: int32(window)})
	}
	if len(m.ids) == 0 {
		return m, nil
	}
	m.def = m.ids[0]
	if _, ok := m.byID[cfg.DefaultModel]; ok {
		m.def = cfg.DefaultModel
	}
	for _, w := range m.wire {
		w.IsDefault = w.Id == m.def
	}
	return m, nil
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// Model finds a model by its id.
func (m *models) Model(id string) (engine.Model, bool) {
	model, ok := m.byID[id]
	return model, ok
}

// Default is the id of the default model; empty when none is configured.
func (m *models) Default() string { return m.def }

// IDs are the ids in the order of the configuration.
func (m *models) IDs() []string { return m.ids }

func (m *models) close() {
	for _, c := range m.clients {
		c.Close()
	}
}
