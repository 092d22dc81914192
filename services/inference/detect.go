package inference

import (
	"context"
	"fmt"

	"github.com/windlass-dev/windlass/services/inference/provider/scripted"
)

// detect makes the providers that are configured, in order of preference.
func detect(_ context.Context, cfg Config, _ Deps) ([]*source, error) {
	var found []*source
	for i, p := range cfg.Providers {
		if p.Kind != Scripted {
			return nil, fmt.Errorf("providers[%d]: kind %q is not built in yet", i, p.Kind)
		}
		impl, err := scripted.New()
		if err != nil {
			return nil, err
		}
		found = append(found, &source{name: p.Name, kind: p.Kind, models: []string{scripted.ModelName}, Provider: impl})
	}
	return found, nil
}
