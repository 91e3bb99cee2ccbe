package deploy

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestWhereCodeRunsThereIsNothingToTake(t *testing.T) {
	p := project(t, "split", "metrics", "collector")
	s := p.Services["sandbox"]
	for name := range s.Networks {
		if !p.Networks[name].Internal {
			t.Errorf("the network %s of the sandbox leads out", name)
		}
	}
	for name, other := range p.Services {
		reached := slices.Contains([]string{"gateway", "orchestrator-1", "orchestrator-2", "fetcher", "sandbox", "jaeger", "otel-collector", "prometheus"}, name)
		if got := meet(s, other); got != reached {
			t.Errorf("the sandbox and %s share a network: %t", name, got)
		}
	}
	for key, value := range settings(s) {
		if strings.HasSuffix(key, "_KEY") || strings.HasSuffix(key, "_DSN") || strings.Contains(value, "filled-in") {
			t.Errorf("the sandbox knows %s", key)
		}
	}
	if len(s.Volumes) != 1 || s.Volumes[0].Source != "sandbox" {
		t.Errorf("the sandbox sees %v", s.Volumes)
	}
	if len(s.Ports) > 0 {
		t.Errorf("the sandbox is published at %v", s.Ports)
	}
}

func TestOnlyWhoAsksTheModelHasItsKey(t *testing.T) {
	for name, s := range ours(project(t, "*")) {
		_, has := settings(s)["MODEL_API_KEY"]
		if asks := name == "nanoclaw" || strings.HasPrefix(name, "orchestrator-"); has != asks {
			t.Errorf("%s has the key of the model: %t", name, has)
		}
	}
}

func TestEveryDatabaseIsMade(t *testing.T) {
	made := read(t, composeDir+"/mysql-init.sql")
	databases := map[string]string{"orchestrator": "nanoclaw_orchestrator", "task-manager": "nanoclaw_taskmanager", "sandbox": "nanoclaw_sandbox"}
	for name, s := range ours(project(t, "*")) {
		if settings(s)["NANOCLAW_STORAGE_DRIVER"] != "mysql" {
			continue
		}
		served := s.Command[1:]
		if len(served) == 0 {
			served = slices.Collect(maps.Keys(databases))
		}
		for _, target := range served {
			if database, ok := databases[target]; !ok || !strings.Contains(made, "CREATE DATABASE IF NOT EXISTS "+database+" ") {
				t.Errorf("%s: no database %q is made for %s", name, database, target)
			}
		}
	}
}
