// Package schedule keeps schedules and starts the turns of their fires, each at most once.
//
// Temporal has a schedule of its own for each of ours, which calls Fire at its times. The rows are what counts: Temporal's
// schedules are compared with them, and a fire is written down before its turn is started, so that any replica can continue it.
package schedule

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/cron"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/scheduledb"
	"github.com/windlass-dev/windlass/services/sessions/sweep"
)

// MaxRecent is how many fires of a schedule are kept.
const MaxRecent = 20

// Turns starts turns, and checks what schedules ask of them, as the caller in ctx.
type Turns interface {
	// CheckInput returns why a text cannot be the input of a turn, a fault at the named field.
	CheckInput(field, text string) error
	// CheckSession returns why the caller cannot add turns to a session.
	CheckSession(ctx context.Context, id string) error
	// CheckAgent returns the id of the agent that a session of a schedule would have, or why there can be none. An empty id
	// stands for the default agent.
	CheckAgent(ctx context.Context, spec scheduledb.ScheduleSpec) (string, error)
	// Start starts a turn. The same key again returns the same turn.
	Start(ctx context.Context, t Turn) (turnID, sessionID string, err error)
}

// Turn is a turn to start for a fire.
type Turn struct {
	// Key names the fire among all of the tenant.
	Key string
	// ScheduleID is the schedule's; Spec is what it asks for.
	ScheduleID string
	Spec       scheduledb.ScheduleSpec
	// Allowed returns nil if the schedule's principal may start the turn. It is called unless the turn exists.
	Allowed func(ctx context.Context) error
}

// Calendars is the workflow engine that fires schedules. Implementations are safe for concurrent use.
type Calendars interface {
	// PutSchedule creates a schedule, or changes the one that exists. It does nothing when that is up to date.
	PutSchedule(ctx context.Context, t Timetable) error
	// DropSchedule deletes a schedule. It succeeds when there is none.
	DropSchedule(ctx context.Context, tenant, id string) error
}

// Timetable is when a schedule fires: at the times of its calendars in a zone, or at each interval since the beginning of 1970.
type Timetable struct {
	// Tenant and ScheduleID name the schedule.
	Tenant, ScheduleID string
	// Revision is that of the schedule.
	Revision int64
	// Calendars are in Zone; without any, Every counts.
	Calendars []cron.Calendar
	Zone      string
	Every     time.Duration
	// Paused keeps it from firing.
	Paused bool
	// CatchUp is how late a missed time may still fire.
	CatchUp time.Duration
	// AgentID is the agent whose turns it starts.
	AgentID string
}

// Deps are what the service needs; all are required.
type Deps struct {
	Store     *store.Store
	Turns     Turns
	Calendars Calendars
	// Policy returns what those may do now whose schedules fire.
	Policy access.PermissionReader
	// PollInterval is how often due work is looked up when nothing triggers a lookup.
	PollInterval time.Duration
	Log          *slog.Logger
}

// Service manages and fires schedules. It is safe for concurrent use.
type Service struct {
	cfg    Config
	deps   Deps
	firer  *firer
	syncer *syncer
	// changed delivers after a change that Temporal does not have yet.
	changed chan struct{}
}

// New makes the service. cfg must be complete.
func New(cfg Config, deps Deps) *Service {
	return &Service{
		cfg: cfg, deps: deps, firer: &firer{cfg: cfg, deps: deps}, syncer: &syncer{cfg: cfg, deps: deps}, changed: make(chan struct{}, 1),
	}
}

// firer decides about fires and starts their turns.
type firer struct {
	cfg  Config
	deps Deps
}

// syncer keeps Temporal's schedules up to date.
type syncer struct {
	cfg  Config
	deps Deps
}

// Run keeps Temporal's schedules up to date and continues pending fires until ctx ends.
func (s *Service) Run(ctx context.Context) {
	var loops sync.WaitGroup
	defer loops.Wait()
	each := func(wake <-chan struct{}, name string, run func(context.Context) error) {
		loops.Go(func() {
			sweep.Every(ctx, s.deps.PollInterval, wake, func(ctx context.Context) {
				if err := run(ctx); err != nil && ctx.Err() == nil {
					s.deps.Log.ErrorContext(ctx, "sweep failed", "sweep", name, "error", err)
				}
			})
		})
	}
	each(s.changed, "schedules", s.syncer.syncDue)
	each(nil, "fires of schedules", s.firer.startDue)
}

// Changed has changed schedules synced with Temporal soon.
func (s *Service) Changed() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func errNotFound(id string) error { return fault.NotFound("schedule %q does not exist", id) }

func errExists(id string) error {
	return fault.AlreadyExists("schedule %q exists already", id).Hint("Choose another id, or update the schedule.")
}

// Get reads a schedule that the caller may see, with the newest of its fires, at most the given number.
func (s *Service) Get(ctx context.Context, id string, fires int) (scheduledb.Schedule, []scheduledb.Fire, error) {
	if !access.Storable(id) {
		return scheduledb.Schedule{}, nil, errNotFound(id)
	}
	v, recent, err := s.deps.Store.ScheduleWithFires(ctx, authn.Tenant(ctx), id, fires)
	if errors.Is(err, store.ErrNotFound) || err == nil && (v.Deleted || !access.Sees(ctx, v.Subject)) {
		err = errNotFound(id)
	}
	return v, recent, err
}

// Lookup reads the schedule with an id, if there is one. ALREADY_EXISTS means that it belongs to a subject whose schedules the
// caller may not see.
func (s *Service) Lookup(ctx context.Context, id string) (v scheduledb.Schedule, found bool, err error) {
	v, err = s.deps.Store.Schedule(ctx, authn.Tenant(ctx), id)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && v.Deleted:
		return v, false, nil
	case err == nil && !access.Sees(ctx, v.Subject):
		return v, false, errExists(v.ID)
	}
	return v, err == nil, err
}

// List returns at most limit of the schedules that the caller may see after the given id, by id.
func (s *Service) List(ctx context.Context, after string, limit int) ([]scheduledb.Schedule, error) {
	return s.deps.Store.Schedules(ctx, authn.Tenant(ctx), access.Owner(ctx), after, limit)
}

// runAs has the turns of a schedule run as the caller, if it is theirs.
func runAs(ctx context.Context, v *scheduledb.Schedule) error {
	p := authn.From(ctx)
	if p.GetSubject() != v.Subject {
		return nil
	}
	data, err := proto.Marshal(p)
	v.Principal = data
	return err
}
