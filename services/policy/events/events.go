// Package events has the domain events of policy: changes that administrators make. Only they and the author of a change see its event.
package events

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/eventlog"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// Source is the source of the events.
const Source = "/windlass/policy"

// New returns the event of a change that the caller has made in its tenant.
func New(ctx context.Context, at time.Time, eventType, subject string, data proto.Message) (eventlog.Event, error) {
	e, err := eventlog.New(authn.Tenant(ctx), eventType, subject, at, data)
	e.Owner = authn.From(ctx).GetSubject()
	return e, err
}

// Config is that of a log of these events.
func Config(retention time.Duration) eventlog.Config {
	return eventlog.Config{
		Source: Source, Retention: retention, Interval: eventlog.Interval,
		Subject: func(tenant string) string { return contract.DomainEventSubject(tenant, "policy") },
	}
}
