package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/account"
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

// newModels makes the models of cfg; what is known of their accounts goes by the
// clock now.
func newModels(cfg Config, now func() time.Time) (*models, error) {
	list, err := ListModels(cfg)
	if err != nil {
		return nil, err
	}
	m := &models{byID: map[string]engine.Model{}, wire: list.Models, def: list.DefaultModel}
	accounts := account.NewSet(now)
	for _, mc := range cfg.Models {
		client, err := newClient(mc)
		if err != nil {
			m.close()
			return nil, err
		}
		window := cmp.Or(mc.ContextWindow, defaultContextWindow)
		m.clients = append(m.clients, client)
		m.byID[mc.ID] = engine.Model{
			ID: mc.ID, Name: cmp.Or(mc.Model, mc.ID), Provider: hostOf(mc.APIURL), ContextWindow: window, Streamer: client,
			Endpoint: client.Endpoint(), Account: accounts.Of(accountOf(mc)), Fallback: mc.Fallback,
		}
		m.ids = append(m.ids, mc.ID)
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

// accountOf is the host of a model and what proves who asks there: the key, else
// whatever else the request carries, which may hold one.
func accountOf(mc ModelConfig) (host, key string) {
	key = strings.TrimSpace(mc.APIKey.Reveal())
	u, err := url.Parse(strings.TrimSpace(mc.APIURL))
	if err != nil {
		return mc.APIURL, key
	}
	if key == "" {
		parts := []string{u.User.String(), u.RawQuery}
		for _, name := range slices.Sorted(maps.Keys(mc.Headers)) {
			parts = append(parts, name, mc.Headers[name])
		}
		key = strings.Join(parts, "\x00")
	}
	return u.Host, key
}

// check asks the endpoint of a model; ok is false when there is no such model. Where
// it answers, an account that was to be left alone for longer may be asked at once.
func (m *models) check(ctx context.Context, id string) (answer *pb.CheckModelResponse, ok bool) {
	i := slices.Index(m.ids, id)
	if i < 0 {
		return nil, false
	}
	got, err := m.clients[i].Probe(ctx)
	answer = &pb.CheckModelResponse{DurationMs: int32(got.Took.Milliseconds())}
	if err == nil {
		m.byID[id].Account.TryNow()
	}
	var passing interface{ Retryable() bool }
	switch {
	case err != nil:
		answer.Message = err.Error()
		answer.Retryable = errors.As(err, &passing) && passing.Retryable()
	case !got.HasList:
		answer.Ok = true
		answer.Message = fmt.Sprintf("The endpoint answers but lists no models (%s), so neither key nor model could be checked. Ask something with it.", got.Note)
	case !got.Listed:
		answer.Message = fmt.Sprintf("%s answers, but the model is not among the %d it lists. Correct models[%d].model, or models[%d].id where it has none.", got.URL, got.Models, i, i)
	default:
		answer.Ok = true
		answer.Message = got.URL + " answers, takes the key and lists the model."
	}
	return answer, true
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
