package route

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/windlass-dev/windlass/services/inference/store"
)

// Listed is a route with where it is kept.
type Listed struct {
	Config
	Origin Origin
	// Stored is the route in the database, nil for one of the configuration.
	Stored *store.Route
}

// priority is that of a stored route; those of the configuration have none.
func (l Listed) priority() int32 {
	if l.Stored == nil {
		return 0
	}
	return l.Stored.Spec.Priority
}

// List returns the routes of a tenant, disabled ones too, in the order in which they are evaluated.
func (r *Resolver) List(ctx context.Context, tenant string) ([]Listed, error) {
	var all []Listed
	for _, c := range r.tables.configured.configs() {
		all = append(all, Listed{Config: c, Origin: Configuration})
	}
	if r.tables.stored == nil {
		return all, nil
	}
	snapshot, err := r.tables.stored.Snapshot(ctx, tenant)
	if err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}
	for _, stored := range snapshot.Routes {
		all = append(all, Listed{Config: configOf(stored), Origin: Stored, Stored: &stored})
	}
	slices.SortStableFunc(all, func(a, b Listed) int {
		return cmp.Or(cmp.Compare(a.rank(a.Origin), b.rank(b.Origin)), cmp.Compare(b.priority(), a.priority()))
	})
	return all, nil
}

// Configured returns the route of the configuration with a name.
func (r *Resolver) Configured(name string) (Config, bool) {
	for _, c := range r.tables.configured.configs() {
		if c.Name == name {
			return c, true
		}
	}
	return Config{}, false
}

// Check returns the first mistake of a route that is to be stored, nil if there is none: its condition compiles, and there is a provider
// for each target.
func (r *Resolver) Check(stored store.Route) *FieldError {
	c := configOf(stored)
	if n := stored.Spec.Priority; n < -MaxPriority || n > MaxPriority {
		return mistake("priority", "is %d: it must be %d to %d", n, -MaxPriority, MaxPriority)
	}
	if _, wrong := compile(r.tables.configured.env, c, Stored); wrong != nil {
		return wrong
	}
	return r.unknownTarget(c)
}
