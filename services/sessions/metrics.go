package sessions

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
)

// measure reports the number of active sessions at each collection of metrics, until the returned function is called.
func (s *Service) measure() (stop func(), err error) {
	meter := otel.Meter("github.com/windlass-dev/windlass/services/sessions")
	active, err := meter.Int64ObservableGauge("windlass.sessions.active", metric.WithDescription(
		"Sessions with a turn that is queued, running or waiting. All replicas report the same number."))
	if err != nil {
		return nil, fmt.Errorf("make metrics: %w", err)
	}
	reg, err := meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		n, err := s.store.ActiveSessions(ctx)
		if err != nil {
			return fmt.Errorf("count active sessions: %w", err)
		}
		o.ObserveInt64(active, n)
		return nil
	}, active)
	if err != nil {
		return nil, fmt.Errorf("make metrics: %w", err)
	}
	return func() { _ = reg.Unregister() }, nil // fails only if it was never registered
}
