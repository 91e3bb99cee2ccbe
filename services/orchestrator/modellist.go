package orchestrator

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
)

// How the profile of a model was chosen.
const (
	profileFromConfig   = "config"   // models[].profile names it
	profileFromEndpoint = "endpoint" // the address tells it
	profileFromDefault  = "default"  // nothing is known of the address
)

// ListModels is what GET /api/models answers of a configuration. Nothing is
// started and nobody is asked. The error is that of a model that cannot be.
func ListModels(cfg Config) (*pb.ListModelsResponse, error) {
	list := &pb.ListModelsResponse{DefaultModel: defaultModel(cfg)}
	for _, mc := range cfg.Models {
		client, err := clientConfig(mc)
		if err != nil {
			return nil, fmt.Errorf("model %s: %w", mc.ID, err)
		}
		list.Models = append(list.Models, listed(mc, client, list.DefaultModel))
	}
	return list, nil
}

// defaultModel is the id of the model that answers where none is named; empty
// when there are none.
func defaultModel(cfg Config) string {
	for _, mc := range cfg.Models {
		if mc.ID == cfg.DefaultModel {
			return mc.ID
		}
	}
	if len(cfg.Models) == 0 {
		return ""
	}
	return cfg.Models[0].ID
}

// listed is a model as it is shown to users: nothing of its key.
func listed(mc ModelConfig, client provider.Config, def string) *pb.Model {
	return &pb.Model{
		Id: mc.ID, Name: cmp.Or(mc.Name, mc.ID), ContextWindow: int32(cmp.Or(mc.ContextWindow, defaultContextWindow)), IsDefault: mc.ID == def,
		Model: client.Model, Endpoint: endpointOf(mc.APIURL), Profile: client.Profile.Name, ProfileFrom: profileFrom(mc, client.Profile),
		ToolMode: string(client.Tools()), Fallback: mc.Fallback, HasKey: client.HasKey(),
	}
}

func profileFrom(mc ModelConfig, p provider.Profile) string {
	plain, err := provider.NamedProfile("", "")
	switch {
	case mc.Profile != "":
		return profileFromConfig
	case err == nil && p.Name == plain.Name:
		return profileFromDefault
	}
	return profileFromEndpoint
}

// endpointOf is the host of an address, with its port where it names one.
func endpointOf(address string) string {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return ""
	}
	return u.Host
}
