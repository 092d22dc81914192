package sessions

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/sqldb"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/api"
	"github.com/windlass-dev/windlass/services/sessions/budget"
	"github.com/windlass-dev/windlass/services/sessions/grant"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/turn"
	"github.com/windlass-dev/windlass/services/sessions/webhook"
)

// Recovered is what Recover did.
type Recovered struct {
	// Turns were in progress, and have failed with the code outcome_unknown: queued ones first, the newest first of each.
	Turns []RecoveredTurn `json:"turns"`
	// Fires counts the fires of schedules that were queued or being started and are given up.
	Fires int64 `json:"fires"`
	// Results counts the results of sub-agents in the background that are no longer delivered to the sessions that asked for them.
	Results int64 `json:"results"`
}

// RecoveredTurn is a turn that Recover ended.
type RecoveredTurn struct {
	Tenant    string `json:"tenant"`
	ID        string `json:"id"`
	SessionID string `json:"session_id"`
	AgentID   string `json:"agent_id"`
	// Status is what the turn was before: queued, running or waiting.
	Status string `json:"status"`
}

// Recover ends every turn in progress of a database that was restored from a backup, as failed with the code outcome_unknown: between the
// backup and the loss the turn may have gone on, and to run it again could repeat its effects. It also gives up the times of schedules that
// passed, and results of sub-agents that could begin a turn a second time. It brings the tables up to date first. No process with the
// sessions role may run. Running it again does nothing more for turns that it ended.
func Recover(ctx context.Context, cfg Config, db *sqldb.DB, log *slog.Logger) (Recovered, error) {
	config.Fill(&cfg)
	st, err := store.Open(ctx, db)
	if err != nil {
		return Recovered{}, err
	}
	r, err := newRecovery(cfg, st, log)
	if err != nil {
		return Recovered{}, err
	}
	ctx = authn.With(ctx, authn.Service("sessions"))
	var done Recovered
	if done.Turns, err = r.endTurns(ctx); err != nil {
		return done, fmt.Errorf("end the turns in progress: %w", err)
	}
	const why = "the mesh was restored from a backup"
	err = st.Write(ctx, func(tx *store.Tx) (err error) {
		if done.Fires, err = tx.CloseFires(ctx, st.Now(), "restored-"+ids.New(ids.Event), why); err != nil {
			return err
		}
		done.Results, err = tx.DropCallbacks(ctx)
		return err
	})
	if err != nil {
		return done, fmt.Errorf("give up fires and results: %w", err)
	}
	return done, nil
}

// recovery ends turns in a process without the rest of the service.
type recovery struct {
	store   *store.Store
	journal *journal.Journal
	turns   *turn.Service
}

func newRecovery(cfg Config, st *store.Store, log *slog.Logger) (*recovery, error) {
	out, err := egress.New(egress.Config{Profile: egress.Public}) // for the webhooks' service, which sends nothing here
	if err != nil {
		return nil, err
	}
	hooks, err := webhook.New(cfg.Webhooks, webhook.Deps{
		Store: st, Egress: out, SealKey: cfg.SealKey, OldSealKeys: cfg.OldSealKeys, PollInterval: cfg.SweepInterval, Log: log,
	})
	if err != nil {
		return nil, err
	}
	j := journal.New(st, silent{}, log)
	return &recovery{store: st, journal: j, turns: turn.New(turn.Config{}, turn.Deps{
		Store: st, Journal: j, Budgets: budget.New(budget.Deps{Store: st}), Notifier: api.Notifier{Webhooks: hooks},
		Children: silent{}, Grants: grant.New(grant.Deps{Store: st, Issuers: []string{"any"}, Log: log}), Log: log,
	})}, nil
}

// silent takes what other parts would be notified of: they do not run, and find it in the store.
type silent struct{}

// Publish implements the journal's bus.
func (silent) Publish(string, []byte) error { return nil }

// AfterEnd implements turn.Children.
func (silent) AfterEnd(*journal.Tx, store.Turn) {}

// endTurns ends the turns in progress: the active one of a session last, so that its end makes none the next one to run.
func (r *recovery) endTurns(ctx context.Context) (done []RecoveredTurn, err error) {
	done = []RecoveredTurn{}
	turns, err := r.store.Unended(ctx)
	if err != nil {
		return done, err
	}
	for _, t := range turns {
		ended, err := r.end(ctx, t)
		if err != nil {
			return done, fmt.Errorf("turn %s: %w", t.ID, err)
		}
		if ended {
			done = append(done, RecoveredTurn{
				Tenant: t.Tenant, ID: t.ID, SessionID: t.SessionID, AgentID: t.AgentID, Status: enum.Name(t.Status),
			})
		}
	}
	return done, nil
}

// end ends one turn. Its workflow, if Temporal has one, is woken later and finds the end.
func (r *recovery) end(ctx context.Context, seen store.Turn) (ended bool, err error) {
	err = r.journal.Write(ctx, func(tx *journal.Tx) error {
		ended = false
		t, err := tx.LockTurn(seen.Tenant, seen.ID)
		if errors.Is(err, store.ErrNotFound) || err == nil && t.Ended() {
			return nil
		}
		if err != nil {
			return err
		}
		ended = true
		if _, err := r.turns.End(tx, &t, unknownEnding()); err != nil || t.DispatchTime.IsZero() {
			return err
		}
		return tx.SetWake(ctx, t.Tenant, t.ID, tx.Now().Add(time.Microsecond))
	})
	return ended, err
}

func unknownEnding() *turnv1.Ending {
	return &turnv1.Ending{Status: turnv1.TurnStatus_TURN_STATUS_FAILED, StopReason: "error", Error: &turnv1.TurnError{
		Code: "outcome_unknown", Message: "The mesh was restored from a backup that was made while this turn was in progress. What the turn " +
			"did after that is not known. Check what its tools did, then send the input again.",
	}}
}
