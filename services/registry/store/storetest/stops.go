package storetest

import (
	"slices"
	"testing"
	"time"
)

// stops asks a replica to stop a call that another one runs.
func (s suite) stops(t *testing.T) {
	e := execution("stop", "k")
	asked := func(key string, at time.Time) bool {
		t.Helper()
		found, err := s.AskStop(t.Context(), "stop", key, at)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	beat := func(owner string) []string {
		t.Helper()
		stopped, err := s.Extend(t.Context(), owner, []string{e.ID, "exe_other"}, begin.Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		return stopped
	}
	if asked("k", begin) {
		t.Error("a call that was never made was found")
	}
	s.open(t, e)
	if asked("k", begin.Add(2*time.Minute)) {
		t.Error("a call whose owner is dead was found")
	}
	if got := beat("me"); len(got) > 0 {
		t.Errorf("nobody asked to stop %v", got)
	}
	if !asked("k", begin) || asked("another", begin) {
		t.Error("what runs was not found, or what does not was")
	}
	if got := beat("you"); len(got) > 0 {
		t.Errorf("told somebody else of %v", got)
	}
	if got := beat("me"); !slices.Equal(got, []string{e.ID}) {
		t.Errorf("its owner is told of %v", got)
	}
	if err := s.GiveUp(t.Context(), e, begin); err != nil {
		t.Fatal(err)
	}
	if asked("k", begin) {
		t.Error("a call that is over was found")
	}
	if _, err := s.Reopen(t.Context(), s.row(t, e), "me", begin.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if got := beat("me"); len(got) > 0 {
		t.Errorf("the next attempt is stopped too: %v", got)
	}
}
