package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/usagedb"
)

// usage holds the groups against sums that are made row by row.
func usage(t *testing.T, s *store.Store) {
	start := time.Date(2026, 11, 27, 22, 0, 0, 0, time.UTC)
	steps, turns := usedSteps(t, s, start)
	for group, key := range map[usagedb.Group]func(store.Step) string{
		usagedb.ByAgent: func(v store.Step) string { return turns[v.TurnID].AgentID },
		usagedb.ByUser:  func(v store.Step) string { return turns[v.TurnID].Subject },
		usagedb.ByModel: func(v store.Step) string { return v.Used.Model },
		usagedb.ByTool:  func(v store.Step) string { return v.Tool },
		usagedb.ByDay:   func(v store.Step) string { return v.Used.EndTime.Truncate(24 * time.Hour).String() },
		usagedb.ByHour:  func(v store.Step) string { return v.Used.EndTime.Truncate(time.Hour).String() },
	} {
		for _, owner := range []string{"", "ann"} {
			f := usagedb.Filter{
				Tenant: tenant, Owner: owner, Since: start, Until: start.Add(5 * time.Hour), Group: group, Limit: 100,
			}
			got, err := s.Usage(t.Context(), f)
			must(t, err)
			want := sumOf(steps, turns, f, key)
			if len(got) != len(want) {
				t.Errorf("group %d of %q has %d rows, want %d", group, owner, len(got), len(want))
			}
			for i, u := range got {
				k := u.Key
				if k == "" {
					k = u.Time.UTC().String()
				}
				if u.Key, u.Time = "", (time.Time{}); u != want[k] {
					t.Errorf("group %d of %q: %s has %+v, want %+v", group, owner, k, u, want[k])
				}
				if i > 0 && group <= usagedb.ByTool && u.Cost > got[i-1].Cost {
					t.Errorf("group %d is not ordered by cost: %+v", group, got)
				}
			}
		}
	}
	if other, err := s.Usage(t.Context(), usagedb.Filter{
		Tenant: "other", Since: start, Until: start.Add(time.Hour), Group: usagedb.ByDay, Limit: 9,
	}); err != nil || len(other) != 0 {
		t.Errorf("another tenant sees %v, %v", other, err)
	}
}

// usedSteps stores turns with steps that have used something, from a time on.
func usedSteps(t *testing.T, s *store.Store, start time.Time) (steps []store.Step, turns map[string]store.Turn) {
	t.Helper()
	turns = map[string]store.Turn{}
	for i, owner := range []string{"ann", "ann", "bob"} {
		turn := store.Turn{
			Tenant: tenant, ID: fmt.Sprint("trn_", i), SessionID: fmt.Sprint("ses_", i), AgentID: []string{"support", "coder"}[i%2], Subject: owner,
			Status: turnv1.TurnStatus_TURN_STATUS_COMPLETED, CreateTime: start,
		}
		if i == 1 {
			turn.Status = turnv1.TurnStatus_TURN_STATUS_FAILED
		}
		turns[turn.ID] = turn
		for n := range 4 {
			step := store.Step{
				Tenant: tenant, TurnID: turn.ID, Key: fmt.Sprint("infer-", n+1), Kind: turnv1.StepKind_STEP_KIND_INFER, Done: true,
				Used: usagedb.Step{
					EndTime: start.Add(time.Duration(i+n) * time.Hour), Model: fmt.Sprint("m/", n%2), Input: int64(10 + i), Output: int64(n),
					Cost: int64(i * n), ModelCalls: 1,
				},
			}
			if n == 3 {
				step.Key, step.Kind, step.Tool = "tool-1.0", turnv1.StepKind_STEP_KIND_TOOL, "notes__add"
				step.Used = usagedb.Step{EndTime: step.Used.EndTime, ToolCalls: 1, Failed: i == 2}
			}
			steps = append(steps, step)
		}
	}
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		for _, turn := range turns {
			if err := tx.AddSession(ctx, store.Session{
				Tenant: tenant, ID: turn.SessionID, AgentID: turn.AgentID, Subject: turn.Subject, CreateTime: start,
			}); err != nil {
				return err
			}
			if err := tx.AddTurn(ctx, turn); err != nil {
				return err
			}
		}
		return nil
	})
	for _, step := range steps {
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.SaveStep(ctx, step) })
	}
	return steps, turns
}

// sumOf sums up what the selected steps have used.
func sumOf(steps []store.Step, turns map[string]store.Turn, f usagedb.Filter, key func(store.Step) string) map[string]usagedb.Row {
	out := map[string]usagedb.Row{}
	seen := map[string]bool{}
	for _, v := range steps {
		k, turn := key(v), turns[v.TurnID]
		if k == "" || f.Owner != "" && turn.Subject != f.Owner || v.Used.EndTime.Before(f.Since) || !v.Used.EndTime.Before(f.Until) {
			continue
		}
		u := out[k]
		u.Input, u.Output, u.Cost = u.Input+v.Used.Input, u.Output+v.Used.Output, u.Cost+v.Used.Cost
		u.ModelCalls, u.ToolCalls = u.ModelCalls+v.Used.ModelCalls, u.ToolCalls+v.Used.ToolCalls
		if !seen[k+turn.ID] {
			u.Turns++
			if f.Group != usagedb.ByTool && turn.Status == turnv1.TurnStatus_TURN_STATUS_FAILED {
				u.Failed++
			}
		}
		if f.Group == usagedb.ByTool && v.Used.Failed {
			u.Failed++
		}
		seen[k+turn.ID], out[k] = true, u
	}
	return out
}
