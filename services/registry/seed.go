package registry

import (
	"context"
	"errors"
	"fmt"

	"github.com/windlass-dev/windlass/services/registry/kinds"
	"github.com/windlass-dev/windlass/services/registry/sourcespec"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// seed creates or updates the configured sources.
func (s *Service) seed(ctx context.Context) error {
	wanted, err := s.cfg.static()
	if err != nil {
		return err
	}
	for _, w := range wanted {
		if err := s.seedOne(ctx, w); err != nil {
			return fmt.Errorf("registry: configured source %q: %w", w.Name, err)
		}
	}
	return nil
}

func (s *Service) seedOne(ctx context.Context, want store.Source) error {
	for {
		have, err := s.store.Source(ctx, want.Tenant, want.Name)
		switch {
		case errors.Is(err, store.ErrNotFound):
			err = s.store.CreateSource(ctx, sourcespec.New(want, s.now()))
			if errors.Is(err, store.ErrExists) {
				continue // another replica was faster
			}
			return err
		case err != nil:
			return err
		case have.Kind != want.Kind:
			return fmt.Errorf("there is one of kind %q with this name; delete it or choose another name", have.Kind)
		case kinds.Facts(have.Kind).Own ||
			sourcespec.Same(have.Spec, want.Spec) && have.Document == want.Document && have.Disabled == want.Disabled:
			return nil
		}
		have.Spec, have.Document, have.Disabled, have.UpdateTime = want.Spec, want.Document, want.Disabled, s.now()
		if err := s.store.UpdateSource(ctx, have); !errors.Is(err, store.ErrChanged) {
			return err
		}
	}
}
