// Package storetest is the suite that the sessions store passes on every engine.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/windlass-dev/windlass/libs/sqldb"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"

	"github.com/windlass-dev/windlass/services/sessions/store"
)

// Run runs the suite; open gives a store with empty tables.
func Run(t *testing.T, open func(t *testing.T) *store.Store) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s *store.Store)
	}{
		{"concurrent appenders leave no gap", appendersLeaveNoGap},
		{"one of many claimers gets the lease", oneClaimer},
		{"a stale fence renews nothing", staleFence},
		{"the outbox gives each turn to one", outboxOnce},
		{"the outbox keeps the order and the bound", outboxBound},
		{"a taken turn cannot be withdrawn", withdraw},
		{"an idempotency key stands until it expires", once},
		{"a conversation is in the order of turns", conversation},
		{"a fork's messages come first", forkedMessages},
		{"an urgent turn is next", urgent},
		{"what changes in a turn is saved", saves},
		{"lists page by time and id", lists},
		{"labels narrow lists", labels},
		{"a blueprint is read as it was written", blueprints},
		{"revisions stay when an agent is deleted", revisions},
		{"stale turns are those without a live lease", stale},
		{"turns that no worker has are found", unowned},
		{"who gave a turn input is known, also of those it follows from", requesters},
		{"waits are listed and expire", waits},
		{"turns that wait for people take no room and are not lost", pausedTurns},
		{"news are told until they are known", news},
		{"what could not be read yet stands later", movedMessages},
		{"a deleted session leaves nothing", deleteSession},
		{"what is started while it is deleted is erased again", deletedWhileStarted},
		{"an executor's session is kept until it is told another", executors},
		{"budgets are found by scope, and what steps hold goes with them", budgets},
		{"deliveries are taken by one, and go with their webhook or session", deliveries},
		{"the end of a turn reports whether a webhook wants it", toldEnds},
		{"schedules are told to one at a time", schedules},
		{"fires are kept while they matter", fires},
		{"sessions, messages and active sessions are counted", sessionCounts},
		{"turns that ended are counted for good, and what waits as it is", totals},
		{"usage is summed up by group", usage},
		{"sessions and turns are found by their words", search},
		{"turns are listed by cost and duration", orders},
		{"a deleted session is hidden until it is restored or erased", hidden},
		{"texts may hold what the other engine would not", texts},
		{"domain events are recorded with what they tell of", domainEvents},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

const tenant = "default"

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, s *store.Store, f func(ctx context.Context, tx *store.Tx) error) {
	t.Helper()
	must(t, s.Write(t.Context(), func(tx *store.Tx) error { return f(t.Context(), tx) }))
}

// addSession makes a session, and turns of it.
func addSession(t testing.TB, s *store.Store, id string, turns ...string) {
	t.Helper()
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.AddSession(ctx, store.Session{
			Tenant: tenant, ID: id, AgentID: "a", Subject: "local",
			CreateTime: sqldb.Time(1),
		}); err != nil {
			return err
		}
		for i, turn := range turns {
			if err := addTurn(ctx, tx, id, turn, uint32(i+1)); err != nil {
				return err
			}
		}
		return nil
	})
}

func addTurn(ctx context.Context, tx *store.Tx, session, id string, seq uint32) error {
	if err := tx.AddTurn(ctx, store.Turn{
		Tenant: tenant, ID: id, SessionID: session, AgentID: "a", Subject: "local", Status: 1, FirstSeq: seq, InputSeq: seq,
		CreateTime:  sqldb.Time(int64(seq)),
		TraceParent: "trace of " + id,
	}); err != nil {
		return err
	}
	return tx.AddTurnInput(ctx, tenant, store.TurnInput{TurnID: id, Input: "in " + id, Principal: &policyv1.Principal{Subject: "p"}})
}

func appendersLeaveNoGap(t *testing.T, s *store.Store) {
	addSession(t, s, "ses_1")
	const appenders, each = 16, 20
	var all sync.WaitGroup
	for range appenders {
		all.Go(func() {
			for range each {
				err := s.Write(t.Context(), func(tx *store.Tx) error {
					ses, err := tx.LockSession(t.Context(), tenant, "ses_1")
					if err != nil {
						return err
					}
					first := store.Event{Seq: ses.LastSeq + 1, TurnID: "trn_1", Type: "a", Data: []byte("1")}
					second := store.Event{Seq: ses.LastSeq + 2, TurnID: "trn_1", Type: "b", OpenSeq: 7, Time: sqldb.Time(9), Data: []byte("2")}
					if err := tx.AddEvents(t.Context(), tenant, "ses_1", []store.Event{first, second}); err != nil {
						return err
					}
					ses.LastSeq += 2
					return tx.SaveSession(t.Context(), ses)
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	events, err := s.Events(t.Context(), tenant, "ses_1", 0, 10_000)
	must(t, err)
	if len(events) != appenders*each*2 {
		t.Fatalf("%d events", len(events))
	}
	for i, e := range events {
		if e.Seq != uint32(i+1) {
			t.Fatalf("event %d has seq %d", i, e.Seq)
		}
	}
	if e := events[1]; e.Type != "b" || e.OpenSeq != 7 || sqldb.Micros(e.Time) != 9 || string(e.Data) != "2" || e.TurnID != "trn_1" {
		t.Errorf("event came back as %+v", e)
	}
}

// claim is what the service does, reduced to the lock, the read and the write.
func claim(ctx context.Context, s *store.Store, owner string, now int64) (bool, error) {
	won := false
	err := s.Write(ctx, func(tx *store.Tx) error {
		won = false
		if _, _, err := tx.LockTurn(ctx, tenant, "trn_1"); err != nil {
			return err
		}
		step, err := tx.Step(ctx, tenant, "trn_1", "infer-1")
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if step.Owner != "" && sqldb.Micros(step.LeaseExpires) > now {
			return nil
		}
		won = true
		return tx.SaveStep(ctx, store.Step{
			Tenant: tenant, TurnID: "trn_1", Key: "infer-1", Kind: 2, Owner: owner, Fence: step.Fence + 1, Attempt: step.Attempt + 1,
			LeaseExpires: sqldb.Time(now + 1000), StartTime: sqldb.Time(now), FirstSeq: 3, MessageID: "msg_1",
		})
	})
	return won, err
}

func oneClaimer(t *testing.T, s *store.Store) {
	addSession(t, s, "ses_1", "trn_1")
	for round := range int64(3) {
		var winners atomic.Int32
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				won, err := claim(t.Context(), s, fmt.Sprintf("w%d", i), 1+round*2000)
				if err != nil {
					t.Error(err)
				}
				if won {
					winners.Add(1)
				}
			})
		}
		all.Wait()
		if winners.Load() != 1 {
			t.Fatalf("round %d: %d winners", round, winners.Load())
		}
	}
	step, err := s.Step(t.Context(), tenant, "trn_1", "infer-1")
	must(t, err)
	if step.Fence != 3 || step.Attempt != 3 || step.MessageID != "msg_1" || step.FirstSeq != 3 {
		t.Errorf("step %+v", step)
	}
}

func staleFence(t *testing.T, s *store.Store) {
	addSession(t, s, "ses_1", "trn_1")
	_, err := claim(t.Context(), s, "w1", 1)
	must(t, err)
	renew := func(fence uint32) bool {
		var ok bool
		write(t, s, func(ctx context.Context, tx *store.Tx) (err error) {
			ok, err = tx.RenewStep(ctx, tenant, "trn_1", "infer-1", fence, sqldb.Time(5000))
			return err
		})
		return ok
	}
	if !renew(1) || renew(2) || renew(0) {
		t.Error("want only fence 1 to renew")
	}
	write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.FenceOff(ctx, tenant, "trn_1") })
	if renew(1) || renew(2) {
		t.Error("a step that was fenced off was renewed")
	}
	step, err := s.Step(t.Context(), tenant, "trn_1", "infer-1")
	must(t, err)
	if step.Fence != 2 || step.Owner != "" {
		t.Errorf("step %+v", step)
	}
}
