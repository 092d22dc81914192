package store

import (
	"context"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/eventlog"
	"github.com/windlass-dev/windlass/libs/sqldb"
	eventv1 "github.com/windlass-dev/windlass/proto/gen/windlass/event/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// EventSource is the source of the registry's domain events.
const EventSource = "/windlass/registry"

// Types of domain events.
const (
	sourceCreated       = "dev.windlass.source.created.v1"
	sourceUpdated       = "dev.windlass.source.updated.v1"
	sourceDeleted       = "dev.windlass.source.deleted.v1"
	sourceReady         = "dev.windlass.source.ready.v1"
	inventoryIngested   = "dev.windlass.inventory.ingested.v1"
	definitionsAccepted = "dev.windlass.definitions.accepted.v1"
	groupCreated        = "dev.windlass.tool_group.created.v1"
	groupUpdated        = "dev.windlass.tool_group.updated.v1"
	groupDeleted        = "dev.windlass.tool_group.deleted.v1"
	toolCalled          = "dev.windlass.tool.called.v1"
)

// maxEventNames limits the names of tools in an event.
const maxEventNames = 100

// eventDB is a database whose transactions record domain events.
type eventDB struct {
	*sqldb.DB
	events *eventlog.Table
}

// EventLog returns the table of the domain events.
func (q eventDB) EventLog() *eventlog.Table { return q.events }

// recordFunc adds the event that was made, unless making it failed.
type recordFunc func(eventlog.Event, error) error

// record runs f in a transaction of write.
func (q eventDB) record(ctx context.Context, write writeFunc, f func(tx sqldb.Tx, record recordFunc) error) error {
	return q.events.Write(ctx, write, func(tx sqldb.Tx, add func(eventlog.Event, error) error) error { return f(tx, add) })
}

func (q eventDB) sourceEvent(ctx context.Context, eventType string, s Source, why string) (eventlog.Event, error) {
	return eventlog.New(s.Tenant, eventType, s.Name, q.Now(), &eventv1.SourceChange{
		SourceId: s.ID, Name: s.Name, Kind: s.Kind, Revision: s.Revision, Disabled: s.Disabled, Error: why, Actor: authn.From(ctx).GetSubject(),
	})
}

func (q eventDB) inventoryEvent(s Source, d Diff) (eventlog.Event, error) {
	return eventlog.New(s.Tenant, inventoryIngested, s.Name, q.Now(), &eventv1.InventoryIngested{
		SourceId: s.ID, Name: s.Name, Total: uint32(d.Total), AddedCount: uint32(len(d.Added)), RemovedCount: uint32(len(d.Removed)),
		ChangedCount: uint32(len(d.Changed)), DriftedCount: uint32(len(d.Drifted)),
		Added: eventNames(d.Added), Removed: eventNames(d.Removed), Changed: eventNames(d.Changed), Drifted: eventNames(d.Drifted),
	})
}

func eventNames(names []string) []string { return names[:min(len(names), maxEventNames)] }

func (q eventDB) acceptedEvent(ctx context.Context, s Source, drifts []Drift) (eventlog.Event, error) {
	names := make([]string, len(drifts))
	for i, d := range drifts {
		names[i] = d.Name
	}
	return eventlog.New(s.Tenant, definitionsAccepted, s.Name, q.Now(), &eventv1.DefinitionsAccepted{
		SourceId: s.ID, Name: s.Name, Count: uint32(len(names)), Tools: eventNames(names), Actor: authn.From(ctx).GetSubject(),
	})
}

func (q eventDB) groupEvent(ctx context.Context, eventType, tenant, name string) (eventlog.Event, error) {
	return eventlog.New(tenant, eventType, name, q.Now(), &eventv1.ToolGroupChange{Name: name, Actor: authn.From(ctx).GetSubject()})
}

// calledEvent is the event of the end of an execution. It is erased with the turn.
func (q eventDB) calledEvent(e Execution) (eventlog.Event, error) {
	out, err := eventlog.New(e.Tenant, toolCalled, e.Tool, q.Now(), &eventv1.ToolCalled{
		ExecutionId: e.ID, Tool: e.Tool, Source: e.Source, Status: e.State, IsError: e.IsError, Code: e.Code,
		Effect: enum.Name(turnv1.EffectClass(e.Effect)), LatencyMs: float64(e.Latency.Microseconds()) / 1000,
		Attempts: uint32(e.Attempts), Cache: e.Cache,
		TurnId: e.TurnID, SessionId: e.SessionID, Principal: e.Subject,
	})
	out.Owner, out.EraseWith = e.Subject, e.erasedWith().ID
	return out, err
}
