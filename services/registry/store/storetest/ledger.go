package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/registry/store"
)

func execution(tenant, key string) store.Execution {
	return store.Execution{
		Tenant: tenant, ID: "exe_" + key, Key: key, Tool: "n__a", Source: "n", DefinitionHash: "hash", TurnID: "trn_1", SessionID: "ses_1",
		CallID: "call_1", Subject: "alice", Effect: store.Idempotent, State: store.Open, Attempts: 1, ArgumentsHash: "ab", DecisionID: "dec_1",
		Owner: "me", Lease: begin.Add(time.Minute), CreateTime: begin,
	}
}

func (s suite) open(t *testing.T, e store.Execution) {
	t.Helper()
	if err := s.Open(t.Context(), e); err != nil {
		t.Fatal(err)
	}
}

// row reads an existing row.
func (s suite) row(t *testing.T, e store.Execution) store.Execution {
	t.Helper()
	got, err := s.Execution(t.Context(), e.Tenant, e.Key)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func (s suite) ledger(t *testing.T) {
	e := execution("led", "k")
	if _, err := s.Execution(t.Context(), "led", "k"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("no row: %v", err)
	}
	s.open(t, e)
	if got := s.row(t, e); fmt.Sprint(got) != fmt.Sprint(e) {
		t.Errorf("row %+v, want %+v", got, e)
	}
	twin := e
	twin.ID = "exe_other"
	if err := s.Open(t.Context(), twin); !errors.Is(err, store.ErrExists) {
		t.Errorf("the key again: %v", err)
	}
	if err := s.Attempt(t.Context(), e); err != nil {
		t.Error(err)
	}
	if err := s.Attempt(t.Context(), e); !errors.Is(err, store.ErrChanged) {
		t.Errorf("the same attempt again: %v", err)
	}
	e.Attempts = 2
	if stopped, err := s.Extend(t.Context(), "me", []string{e.ID, "exe_none"}, begin.Add(time.Hour)); err != nil || len(stopped) > 0 {
		t.Error(stopped, err)
	}
	if stopped, err := s.Extend(t.Context(), "you", []string{e.ID}, begin.Add(2*time.Hour)); err != nil || len(stopped) > 0 {
		t.Error(stopped, err)
	}
	if got := s.row(t, e); !got.Lease.Equal(begin.Add(time.Hour)) || got.Attempts != 2 {
		t.Errorf("after the heartbeat: %+v", got)
	}
	done := e
	done.State, done.IsError, done.Code, done.Result, done.Latency, done.EndTime = store.Done, true, "too_large", []byte{0, 1, 255},
		1500*time.Microsecond, begin.Add(time.Second)
	foreign := done
	foreign.Owner = "you"
	if err := s.Close(t.Context(), foreign); !errors.Is(err, store.ErrChanged) {
		t.Errorf("closed by another: %v", err)
	}
	if err := s.Close(t.Context(), done); err != nil {
		t.Error(err)
	}
	done.Lease = time.Time{}
	if got := s.row(t, e); fmt.Sprint(got) != fmt.Sprint(done) {
		t.Errorf("closed row %+v, want %+v", got, done)
	}
	if err := s.Close(t.Context(), done); !errors.Is(err, store.ErrChanged) {
		t.Errorf("closed again: %v", err)
	}
	if err := s.GiveUp(t.Context(), done, begin); !errors.Is(err, store.ErrChanged) {
		t.Errorf("a finished row given up: %v", err)
	}
}

// contention lets many replicas adopt one orphaned row: one succeeds.
func (s suite) contention(t *testing.T) {
	e := execution("race", "k")
	s.open(t, e)
	if err := s.GiveUp(t.Context(), e, begin); err != nil {
		t.Fatal(err)
	}
	orphan := s.row(t, e)
	if orphan.State != store.Unresolved || orphan.Code != "outcome_unknown" || !orphan.IsError {
		t.Errorf("given up: %+v", orphan)
	}
	var all sync.WaitGroup
	won := make(chan store.Execution, 16)
	for i := range 16 {
		all.Go(func() {
			got, err := s.Reopen(t.Context(), orphan, fmt.Sprint("replica-", i), begin.Add(time.Minute))
			switch {
			case err == nil:
				won <- got
			case !errors.Is(err, store.ErrChanged):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(won) != 1 {
		t.Fatalf("%d replicas adopted the row", len(won))
	}
	got := <-won
	if after := s.row(t, e); fmt.Sprint(after) != fmt.Sprint(got) || after.Attempts != 2 || after.State != store.Open || after.IsError {
		t.Errorf("row %+v, the winner has %+v", after, got)
	}
}

// resolved resolves an orphaned row.
func (s suite) resolved(t *testing.T) {
	orphan := func(key string) store.Execution {
		e := execution("said", key)
		e.ApprovalID = "apr_1"
		s.open(t, e)
		if err := s.Resolve(t.Context(), e); !errors.Is(err, store.ErrChanged) {
			t.Errorf("a row that is open: %v", err)
		}
		if err := s.GiveUp(t.Context(), e, begin); err != nil {
			t.Fatal(err)
		}
		return s.row(t, e)
	}
	said := func(what string) store.Resolution {
		return store.Resolution{ID: "apr_2", What: what, By: "alice", Comment: "I looked", Time: begin.Add(time.Hour)}
	}
	done := orphan("done")
	done.State, done.IsError, done.Code, done.Result, done.EndTime, done.Resolution = store.Done, false, "", []byte("x"), begin.Add(time.Hour),
		said(store.SaidDone)
	if err := s.Resolve(t.Context(), done); err != nil {
		t.Fatal(err)
	}
	if got := s.row(t, done); fmt.Sprint(got) != fmt.Sprint(done) {
		t.Errorf("row %+v, want %+v", got, done)
	}
	if err := s.Resolve(t.Context(), done); !errors.Is(err, store.ErrChanged) {
		t.Errorf("said twice: %v", err)
	}
	late := done
	late.Result = []byte("late")
	if err := s.Close(t.Context(), late); !errors.Is(err, store.ErrChanged) {
		t.Errorf("a late answer of a call that somebody vouched for: %v", err)
	}
	again := orphan("not done")
	again.Resolution, again.DefinitionHash, again.ApprovalID = said(store.SaidNotDone), "other", "apr_3"
	got, err := s.Reopen(t.Context(), again, "me too", begin.Add(time.Minute))
	if err != nil || fmt.Sprint(s.row(t, again)) != fmt.Sprint(got) || got.Resolution != again.Resolution || got.ApprovalID != "apr_3" ||
		got.DefinitionHash != "other" {
		t.Errorf("reopened: %+v, %v", got, err)
	}
	got.State, got.Result = store.Waiting, []byte("why?")
	if err := s.Close(t.Context(), got); err != nil {
		t.Fatal(err)
	}
	if row := s.row(t, again); row.State != store.Waiting || string(row.Result) != "why?" {
		t.Errorf("waiting: %+v", row)
	}
}

// lateAnswers: a replica that was considered dead is alive, and its call answers.
func (s suite) lateAnswers(t *testing.T) {
	e := execution("late", "k")
	s.open(t, e)
	if err := s.GiveUp(t.Context(), e, begin); err != nil {
		t.Fatal(err)
	}
	late := e
	late.State, late.EndTime, late.Result = store.Done, begin, []byte("x")
	if err := s.Close(t.Context(), late); err != nil {
		t.Errorf("a late answer of a call that nobody repeated: %v", err)
	}
	e = execution("late", "k2")
	s.open(t, e)
	if err := s.GiveUp(t.Context(), e, begin); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Reopen(t.Context(), s.row(t, e), "other", begin.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	late.Key, late.ID = e.Key, e.ID
	if err := s.Close(t.Context(), late); !errors.Is(err, store.ErrChanged) {
		t.Errorf("a late answer of a call that another repeats: %v", err)
	}
}

func (s suite) executions(t *testing.T) {
	for i := range 7 {
		e := execution("list", fmt.Sprint(i))
		e.CreateTime = begin.Add(time.Duration(i/2) * time.Second) // pairs share a time
		e.TurnID = []string{"trn_a", "trn_b"}[i%2]
		e.Tool = []string{"n__a", "n__b", "n__c"}[i%3]
		s.open(t, e)
	}
	for _, row := range []struct {
		name   string
		filter store.ExecutionFilter
		want   string
	}{
		{"all", store.ExecutionFilter{}, "6543210"},
		{"one turn", store.ExecutionFilter{TurnID: "trn_b"}, "531"},
		{"one call", store.ExecutionFilter{CallID: "call_1"}, "6543210"},
		{"another call", store.ExecutionFilter{CallID: "call_2"}, ""},
		{"one tool", store.ExecutionFilter{Tool: "n__a"}, "630"},
		{"one session", store.ExecutionFilter{SessionID: "ses_1"}, "6543210"},
		{"another session", store.ExecutionFilter{SessionID: "ses_2"}, ""},
		{"one source", store.ExecutionFilter{Source: "n"}, "6543210"},
		{"another source", store.ExecutionFilter{Source: "m"}, ""},
		{"in progress", store.ExecutionFilter{State: store.Open}, "6543210"},
		{"with errors", store.ExecutionFilter{Errors: true}, ""},
		{"in a period", store.ExecutionFilter{From: begin.Add(time.Second), Until: begin.Add(2 * time.Second)}, "32"},
		{"one tool of one turn", store.ExecutionFilter{Tool: "n__a", TurnID: "trn_a"}, "60"},
	} {
		var got strings.Builder
		var after store.Cursor
		for {
			page, err := s.Executions(t.Context(), "list", row.filter, after, 2)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range page {
				got.WriteString(e.Key)
				after = store.Cursor{Micros: sqldb.Micros(e.CreateTime), ID: e.ID}
			}
			if len(page) < 2 {
				break
			}
		}
		if got.String() != row.want {
			t.Errorf("%s: %s, want %s", row.name, got.String(), row.want)
		}
	}
}

func (s suite) forget(t *testing.T) {
	for _, key := range []string{"done", "open", "other"} {
		e := execution("forget", key)
		e.Arguments = `{"text":"secret"}`
		e.TurnID = map[string]string{"done": "trn_f1", "open": "trn_f2", "other": "trn_f3"}[key]
		s.open(t, e)
		if key == "open" {
			continue
		}
		e.State, e.Result = store.Done, []byte("secret")
		if err := s.Close(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	direct := execution("forget", "direct")
	direct.TurnID, direct.SessionID = "", "ses_f"
	s.open(t, direct)
	direct.State, direct.Result = store.Done, []byte("secret")
	if err := s.Close(t.Context(), direct); err != nil {
		t.Fatal(err)
	}
	if open, err := s.Forget(t.Context(), "forget", []string{"trn_none", "ses_f"}); err != nil || open != 0 {
		t.Fatalf("forget a session: %d open, %v", open, err)
	}
	if got := s.row(t, direct); got.SessionID != "" || len(got.Result) > 0 || got.Tool == "" {
		t.Errorf("forgotten call of a session: %+v", got)
	}
	for range 2 { // repeating it is harmless
		if open, err := s.Forget(t.Context(), "forget", []string{"trn_f1", "trn_f2", "trn_none"}); err != nil || open != 1 {
			t.Fatalf("forget: %d open, %v", open, err)
		}
	}
	if got := s.row(t, execution("forget", "done")); got.TurnID != "" || got.SessionID != "" || got.CallID != "" || got.ArgumentsHash != "" ||
		len(got.Result) > 0 || got.State != store.Done || got.Tool == "" || got.Subject == "" {
		t.Errorf("forgotten: %+v", got)
	}
	if got, err := s.ExecutionByID(t.Context(), "forget", "exe_done"); err != nil || got.Arguments != "" {
		t.Errorf("arguments of a forgotten execution: %q, %v", got.Arguments, err)
	}
	if got := s.row(t, execution("forget", "open")); got.TurnID != "trn_f2" {
		t.Errorf("a call under way: %+v", got)
	}
	if got := s.row(t, execution("forget", "other")); string(got.Result) != "secret" || got.TurnID != "trn_f3" {
		t.Errorf("another turn's: %+v", got)
	}
}

func (s suite) orphans(t *testing.T) {
	for key, lease := range map[string]time.Duration{"dead": -time.Minute, "alive": time.Minute} {
		e := execution("orphan", key)
		e.Lease = begin.Add(24*time.Hour + lease)
		s.open(t, e)
	}
	done := execution("orphan", "done")
	s.open(t, done)
	done.State = store.Done
	if err := s.Close(t.Context(), done); err != nil {
		t.Fatal(err)
	}
	if n, err := s.GiveUpOrphans(t.Context(), begin.Add(24*time.Hour), begin); err != nil || n < 1 {
		t.Errorf("given up: %d, %v", n, err)
	}
	for key, want := range map[string]string{"dead": store.Unresolved, "alive": store.Open, "done": store.Done} {
		if got := s.row(t, execution("orphan", key)); got.State != want {
			t.Errorf("%s is %s", key, got.State)
		}
	}
	if n, err := s.GiveUpOrphans(t.Context(), begin.Add(24*time.Hour), begin); err != nil || n != 0 {
		t.Errorf("given up again: %d, %v", n, err)
	}
	s.giveUpAll(t)
}

// giveUpAll gives up rows with live leases too, once.
func (s suite) giveUpAll(t *testing.T) {
	asks := execution("orphan", "asks")
	s.open(t, asks)
	asks.State, asks.Result = store.Waiting, []byte("question")
	if err := s.Close(t.Context(), asks); err != nil {
		t.Fatal(err)
	}
	given := map[string]bool{}
	lost, err := s.GiveUpAll(t.Context(), begin)
	for _, e := range lost {
		given[e.Key] = e.Tenant == "orphan" && e.State == store.Unresolved && e.Code == "outcome_unknown"
	}
	alive := execution("orphan", "alive").Key
	if err != nil || !given[alive] || !given[asks.Key] || given[execution("orphan", "done").Key] {
		t.Errorf("all given up: %v, %v", given, err)
	}
	for key, want := range map[string]string{"alive": store.Unresolved, "asks": store.Unresolved, "done": store.Done} {
		if got := s.row(t, execution("orphan", key)); got.State != want {
			t.Errorf("%s is %s after all were given up", key, got.State)
		}
	}
	if lost, err := s.GiveUpAll(t.Context(), begin); err != nil || len(lost) > 0 {
		t.Errorf("all given up again: %d, %v", len(lost), err)
	}
}
