package orchestrator

import (
	"context"
	"errors"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
)

// ModelAnswer is what the endpoint of a model says of its models.
type ModelAnswer = provider.Catalogue

// CheckModel asks the endpoint of a model whether it is there, takes the key and
// has the model. Nothing is asked of the model itself. An error that may pass
// by itself has the method Retryable, which says true.
func CheckModel(ctx context.Context, m ModelConfig) (ModelAnswer, error) {
	client, err := newClient(m)
	if err != nil {
		return ModelAnswer{}, err
	}
	defer client.Close()
	return client.Probe(ctx)
}

// AdviceOf takes the error of a model's call apart: what happened, and what to do
// about it. The second is empty where there is nothing to say, and of errors of
// other things. Runs, doctor and checks of models all tell these words.
func AdviceOf(err error) (fault, hint string) {
	if e, ok := errors.AsType[*provider.Error](err); ok {
		return e.Fault(), e.Hint
	}
	return err.Error(), ""
}

// CheckDatabase looks at the database that New would open, and changes nothing.
func CheckDatabase(ctx context.Context, dataDir string, db store.Config) (store.Report, error) {
	return store.Inspect(ctx, database(Deps{DataDir: dataDir, Database: db}))
}
