// Package grant has policy make the grants of turns, with which their tools are called as their users, and end them with the turns.
package grant

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/callertoken"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/grantdb"
	"github.com/windlass-dev/windlass/services/sessions/sweep"
)

// endTimeout bounds a request to end grants, for which no caller waits.
const endTimeout = 10 * time.Second

// Policy keeps grants; the client of its GrantService does.
type Policy interface {
	CreateGrant(context.Context, *policyv1.CreateGrantRequest, ...grpc.CallOption) (*policyv1.CreateGrantResponse, error)
	EndGrants(context.Context, *policyv1.EndGrantsRequest, ...grpc.CallOption) (*policyv1.EndGrantsResponse, error)
}

// Deps are what the service needs; all are required.
type Deps struct {
	Store  *store.Store
	Policy Policy
	// Issuers are the names of the issuers whose users turns can act for.
	Issuers []string
	Log     *slog.Logger
}

// Service makes and ends grants. The nil Service makes none.
type Service struct {
	deps Deps
	wake chan struct{}
}

// New returns a Service; nil if turns can act for the users of no issuer.
func New(deps Deps) *Service {
	if len(deps.Issuers) == 0 {
		return nil
	}
	return &Service{deps: deps, wake: make(chan struct{}, 1)}
}

// Create makes the grant of a turn that the context's principal is about to start: of the token of the request or, with parent, like that
// of the turn that starts it. It reports whether there may be one, which Keep then has to record in the turn's transaction.
func (s *Service) Create(ctx context.Context, turn, parent string) (bool, error) {
	p, token := authn.From(ctx), callertoken.From(ctx)
	if s == nil || parent == "" && token == nil || !slices.Contains(s.deps.Issuers, p.GetIssuer()) {
		return false, nil
	}
	_, err := s.deps.Policy.CreateGrant(ctx, &policyv1.CreateGrantRequest{Principal: p, TurnId: turn, ParentTurnId: parent, Token: token})
	if err != nil {
		return false, fmt.Errorf("create the grant of the turn: %w", err)
	}
	return true, nil
}

// Keep records, in the transaction that stores a turn, that it has a grant.
func (s *Service) Keep(tx *journal.Tx, t store.Turn) error {
	return grantdb.Add(tx.Context(), tx, t.Tenant, t.ID)
}

// Drop ends the grant of a turn that was not stored. If that fails the grant expires.
func (s *Service) Drop(ctx context.Context, tenant, turn string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if err := s.tell(ctx, tenant, turn); err != nil {
		s.deps.Log.WarnContext(ctx, "the grant of a turn that did not start is not ended", "turn_id", turn, "error", err)
	}
}

// End ends the grant of a turn, which ends in this transaction, once that is committed and Sweep runs.
func (s *Service) End(tx *journal.Tx, t store.Turn) error {
	if s == nil {
		return nil
	}
	has, err := grantdb.SetEnded(tx.Context(), tx, t.Tenant, t.ID, tx.Now())
	if err != nil || !has {
		return err
	}
	tx.After(func(context.Context) {
		select {
		case s.wake <- struct{}{}:
		default: // the sweep is about to run anyway
		}
	})
	return nil
}

// Woken has a value when a grant is to be ended.
func (s *Service) Woken() <-chan struct{} {
	if s == nil {
		return nil
	}
	return s.wake
}

// Sweep ends the grants of turns that have ended.
func (s *Service) Sweep(ctx context.Context) error {
	if s == nil {
		return nil
	}
	return sweep.Due(ctx, func(ctx context.Context, limit int) ([]grantdb.Ended, error) {
		return grantdb.Due(ctx, s.deps.Store.DB.Reader(), s.deps.Store.Now(), limit)
	}, func(ctx context.Context, e grantdb.Ended) error {
		cause := s.end(ctx, e)
		if cause == nil || ctx.Err() != nil {
			return cause
		}
		s.deps.Log.WarnContext(ctx, "the grant of a turn that has ended is not ended yet", "turn_id", e.TurnID, "error", cause)
		return s.deps.Store.Write(ctx, func(tx *store.Tx) error {
			return grantdb.Postpone(ctx, tx, e, s.deps.Store.Now().Add(sweep.Backoff(e.Attempts)))
		})
	})
}

func (s *Service) end(ctx context.Context, e grantdb.Ended) error {
	if err := s.tell(ctx, e.Tenant, e.TurnID); err != nil {
		return err
	}
	return s.deps.Store.Write(ctx, func(tx *store.Tx) error { return grantdb.Remove(ctx, tx, e) })
}

func (s *Service) tell(ctx context.Context, tenant, turn string) error {
	_, err := s.deps.Policy.EndGrants(ctx, &policyv1.EndGrantsRequest{Tenant: tenant, TurnIds: []string{turn}})
	return err
}
