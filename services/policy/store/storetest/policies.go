package storetest

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/services/policy/store"
)

func between(t *testing.T, s store.Store) {
	t.Helper()
	for i := range 4 {
		if err := s.Add(t.Context(), decision("range", fmt.Sprintf("dec_%d", i), begin.Add(time.Duration(i)*time.Second)), nil); err != nil {
			t.Fatal(err)
		}
	}
	filter := store.Filter{Since: begin.Add(time.Second), Until: begin.Add(3 * time.Second)}
	found, err := s.List(t.Context(), "range", filter, store.Cursor{}, 9)
	if err != nil || len(found) != 2 || found[0].ID != "dec_2" || found[1].ID != "dec_1" {
		t.Errorf("List = %v, %v", found, err)
	}
}

func inputs(t *testing.T, s store.Store) {
	t.Helper()
	first := store.Input{Hash: "h1", Subject: "ann", Principal: []byte("one \x00")}
	second := store.Input{Hash: "h2", Subject: "ann", Principal: []byte("two")}
	for i, in := range []store.Input{first, second, first} {
		if err := s.Add(t.Context(), decision("inputs", fmt.Sprintf("dec_%d", i), begin.Add(time.Duration(i)*time.Second)), &in); err != nil {
			t.Fatal(err)
		}
	}
	hashes := []string{"h2", "none"}
	for i := range 900 { // more than one statement takes
		hashes = append(hashes, fmt.Sprint(i))
	}
	got, err := s.Inputs(t.Context(), "inputs", append(hashes, "h1"))
	if err != nil || !reflect.DeepEqual(got, map[string]store.Input{"h1": first, "h2": second}) {
		t.Errorf("Inputs = %v, %v", got, err)
	}
	if last, err := s.LastInput(t.Context(), "inputs", "ann"); err != nil || !reflect.DeepEqual(last, first) {
		t.Errorf("LastInput = %v, %v", last, err)
	}
	if _, err := s.LastInput(t.Context(), "two", "ann"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("LastInput of another tenant: %v", err)
	}
	if got, err := s.Inputs(t.Context(), "two", []string{"h1"}); err != nil || len(got) != 0 {
		t.Errorf("Inputs of another tenant = %v, %v", got, err)
	}
	// The second was last used a second after begin, and the first two seconds after it.
	for i, want := range [][]string{{"h1", "h2"}, {"h1", "h2"}, {"h1"}, {}} {
		if err := s.PruneInputs(t.Context(), begin.Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
		got, err := s.Inputs(t.Context(), "inputs", []string{"h1", "h2"})
		if left := slices.Sorted(maps.Keys(got)); err != nil || !slices.Equal(left, want) {
			t.Errorf("Inputs after those from before second %d were deleted = %v, %v", i, left, err)
		}
	}
}

func put(name string, spec store.Spec) func(store.Snapshot) (store.Change, error) {
	return func(store.Snapshot) (store.Change, error) {
		return store.Change{Put: &store.Policy{Name: name, Spec: spec, CreateTime: begin, UpdateTime: begin.Add(time.Second)}}, nil
	}
}

func policies(t *testing.T, s store.Store) {
	t.Helper()
	spec := store.Spec{
		Description: "ø", Priority: -3, Disabled: true, Expression: "true", ToolGroups: []string{"g"}, Tools: []string{"a__*"},
		Permissions: []string{"x.*"}, Effect: store.Deny,
		Matchers: []store.Matcher{{Path: "a", Operator: store.Matches, Values: []string{"x", ""}}},
	}
	if r, err := s.Revision(t.Context(), "p"); err != nil || r != 0 {
		t.Errorf("before the first policy: %d, %v", r, err)
	}
	if now, err := s.Snapshot(t.Context(), "p"); err != nil || now.Revision != 0 || len(now.Policies) != 0 {
		t.Errorf("before the first policy: %v, %v", now, err)
	}
	want := store.Policy{
		Tenant: "p", Name: "one", Spec: spec, Revision: 1, PolicyRevision: 1, CreateTime: begin, UpdateTime: begin.Add(time.Second),
	}
	if got, err := s.ChangePolicies(t.Context(), "p", put("one", spec)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("created %+v, %v", got, err)
	}
	if got, err := s.Policy(t.Context(), "p", "one"); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, %v", got, err)
	}
	for _, name := range []string{"two", "one", "zero"} {
		if _, err := s.ChangePolicies(t.Context(), "p", put(name, spec)); err != nil {
			t.Fatal(err)
		}
	}
	now, err := s.Snapshot(t.Context(), "p")
	var names []string
	for _, p := range now.Policies {
		names = append(names, fmt.Sprintf("%s:%d:%d", p.Name, p.Revision, p.PolicyRevision))
	}
	if err != nil || now.Revision != 4 || strings.Join(names, " ") != "one:2:3 two:1:2 zero:1:4" {
		t.Errorf("snapshot %d %v, %v", now.Revision, names, err)
	}
	if page, err := s.Policies(t.Context(), "p", "one", 1); err != nil || len(page) != 1 || page[0].Name != "two" {
		t.Errorf("page %v, %v", page, err)
	}
	for _, name := range []string{"one", "two", "zero"} {
		if _, err := s.ChangePolicies(t.Context(), "p", func(store.Snapshot) (store.Change, error) {
			return store.Change{Delete: name}, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if now, err := s.Snapshot(t.Context(), "p"); err != nil || now.Revision != 7 || len(now.Policies) != 0 {
		t.Errorf("after the last policy: %v, %v", now, err)
	}
	if _, err := s.Policy(t.Context(), "p", "one"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a deleted policy: %v", err)
	}
	if r, err := s.Revision(t.Context(), "q"); err != nil || r != 0 {
		t.Errorf("another tenant: %d, %v", r, err)
	}
}

func failedChange(t *testing.T, s store.Store) {
	t.Helper()
	wrong := errors.New("wrong")
	_, err := s.ChangePolicies(t.Context(), "failed", func(store.Snapshot) (store.Change, error) { return store.Change{}, wrong })
	if !errors.Is(err, wrong) {
		t.Errorf("the error of the change: %v", err)
	}
	_, err = s.ChangePolicies(t.Context(), "failed", func(store.Snapshot) (store.Change, error) { return store.Change{Delete: "none"}, nil })
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("nothing to delete: %v", err)
	}
	if r, err := s.Revision(t.Context(), "failed"); err != nil || r != 0 {
		t.Errorf("revision %d, %v", r, err)
	}
}

func concurrentChanges(t *testing.T, s store.Store) {
	t.Helper()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := s.ChangePolicies(t.Context(), "many", func(now store.Snapshot) (store.Change, error) {
				// Each change depends on what it sees.
				return put(fmt.Sprintf("p%d", len(now.Policies)), store.Spec{Effect: store.Allow})(now)
			}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if now, err := s.Snapshot(t.Context(), "many"); err != nil || now.Revision != 8 || len(now.Policies) != 8 {
		t.Errorf("snapshot %v, %v", now, err)
	}
}
