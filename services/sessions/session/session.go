// Package session manages sessions: it opens, lists, forks and deletes them.
package session

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/agent"
	"github.com/windlass-dev/windlass/services/sessions/blueprint"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/find"
	"github.com/windlass-dev/windlass/services/sessions/idempotency"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// publisher notifies the watchers of a session over the bus. It must not block.
type publisher interface {
	Publish(subject string, data []byte) error
}

// Deps are what the service needs; all are required.
type Deps struct {
	Store         *store.Store
	Journal       *journal.Journal
	Access        access.Reader
	Agents        *agent.Service
	Blueprints    blueprint.Resolver
	Conversations *conversation.Service
	Keys          idempotency.Keys
	Bus           publisher
	// Erase starts to erase what other services keep of deleted sessions.
	Erase func()
	// RestoreFor is how long a deleted session can be restored.
	RestoreFor time.Duration
	Log        *slog.Logger
}

// Service manages sessions. It is safe for concurrent use.
type Service struct{ deps Deps }

// New returns the service.
func New(deps Deps) *Service { return &Service{deps: deps} }

// Spec is what a caller sets of a new session.
type Spec struct {
	// AgentID is its agent; "" = see agent.Service.Choose.
	AgentID, Title string
	Labels         map[string]string
	Params         *structpb.Struct
	// Banks are ids of banks that its turns answer from, nil for those of the agent.
	Banks []string
}

// New returns a session of the caller, which is not stored yet. Its agent must fit the params and the caller.
func (s *Service) New(ctx context.Context, spec Spec) (store.Session, error) {
	a, err := s.deps.Agents.Choose(ctx, spec.AgentID)
	if err != nil {
		return store.Session{}, err
	}
	return s.NewWith(ctx, a, spec)
}

// NewWith is New with an agent that was read before.
func (s *Service) NewWith(ctx context.Context, a store.Agent, spec Spec) (store.Session, error) {
	if !access.Storable(spec.Title) {
		return store.Session{}, fault.Invalid("title", "must not contain NUL")
	}
	if message := agent.WithoutBanks(a.Spec); len(spec.Banks) > 0 && message != "" {
		return store.Session{}, fault.Invalid("banks", "%s", message)
	}
	now := s.deps.Store.Now()
	p := authn.From(ctx)
	ses := store.Session{
		Tenant: p.GetTenant(), ID: ids.New(ids.Session), AgentID: a.ID, Subject: p.GetSubject(), Title: spec.Title, Labels: spec.Labels,
		Banks: spec.Banks, CreateTime: now, UpdateTime: now,
	}
	if err := blueprint.SetSessionParams(ctx, &ses, a, spec.Params); err != nil {
		return store.Session{}, err
	}
	return ses, s.deps.Blueprints.CheckTurn(ctx, a, ses, p, s.deps.Store.Now())
}

// CheckNew checks that the caller could open a session with an agent, params and banks.
func (s *Service) CheckNew(ctx context.Context, a store.Agent, params *structpb.Struct, banks []string) error {
	_, err := s.NewWith(ctx, a, Spec{Params: params, Banks: banks})
	return err
}

// Create opens a session of the caller. once names the request.
func (s *Service) Create(ctx context.Context, spec Spec, once store.Once) (store.Session, error) {
	earlier, found, err := s.deps.Keys.Earlier(ctx, once)
	if err != nil {
		return store.Session{}, err
	}
	if found {
		return s.Get(ctx, earlier.SessionID)
	}
	ses, err := s.New(ctx, spec)
	if err != nil {
		return ses, err
	}
	again := ""
	err = s.deps.Journal.Write(ctx, func(tx *journal.Tx) error {
		once := once
		once.SessionID = ses.ID
		first, added, err := s.deps.Keys.Remember(tx, once)
		if again = ""; err != nil || !added {
			again = first.SessionID
			return err
		}
		return tx.AddSession(ctx, ses)
	})
	if err == nil && again != "" {
		return s.Get(ctx, again)
	}
	return ses, err
}

// Get returns a session that the caller may see.
func (s *Service) Get(ctx context.Context, id string) (store.Session, error) {
	return s.deps.Access.Session(ctx, id)
}

// List returns the sessions that the caller may see, the newest first. Tenant and subject of the filter are set to the caller's, and its
// words to those of a query, "" = all sessions.
func (s *Service) List(ctx context.Context, f store.SessionFilter, query string) ([]store.Session, error) {
	if f.Words = find.Query(query); len(f.Words) == 0 && query != "" {
		return nil, nil
	}
	if !access.Storable(f.AgentID) || slices.ContainsFunc(f.Labels, func(l string) bool { return !access.Storable(l) }) {
		return nil, nil
	}
	f.Tenant, f.Subject = authn.Tenant(ctx), access.Owner(ctx)
	return s.deps.Store.Sessions(ctx, f)
}

// Update changes a session as change says.
func (s *Service) Update(ctx context.Context, id string, change func(*store.Session) error) (store.Session, error) {
	ses, err := s.Get(ctx, id)
	if err != nil {
		return ses, err
	}
	err = s.deps.Journal.Write(ctx, func(tx *journal.Tx) error {
		if err := tx.Lock(ses.Tenant, ses.ID); err != nil {
			return err
		}
		if err := change(&tx.Session); err != nil {
			return err
		}
		if !access.Storable(tx.Session.Title) {
			return fault.Invalid("title", "must not contain NUL")
		}
		tx.Touch()
		ses = tx.Session
		ses.UpdateTime = tx.Now()
		return tx.SaveLabels(ctx, tx.Session)
	})
	if errors.Is(err, store.ErrNotFound) {
		err = access.NoSession(ses.ID)
	}
	return ses, err
}

// Messages returns at most limit messages of a session behind a seq, in the order of their seqs.
func (s *Service) Messages(ctx context.Context, ses store.Session, after int64, limit int) ([]store.Message, error) {
	return s.deps.Store.Messages(ctx, ses.Tenant, ses.ID, after, limit)
}

// Turns returns at most limit turns of a session behind the one with a first seq, in the order in which they were accepted.
func (s *Service) Turns(ctx context.Context, ses store.Session, after uint32, limit int) ([]store.Turn, error) {
	return s.deps.Store.TurnsInOrder(ctx, ses.Tenant, ses.ID, after, limit)
}

// Events returns at most limit events of a session behind a seq.
func (s *Service) Events(ctx context.Context, ses store.Session, after uint32, limit int) ([]store.Event, error) {
	return s.deps.Store.Events(ctx, ses.Tenant, ses.ID, after, limit)
}
