package storetest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/services/registry/store"
)

// cached records calls that were answered from the cache, and counts them.
func (s suite) cached(t *testing.T) {
	hit := execution("cached", "hit")
	hit.State, hit.Cache, hit.Effect, hit.EndTime, hit.Result = store.Done, store.CacheHit, store.Read, begin, []byte("result")
	if err := s.Record(t.Context(), hit); err != nil {
		t.Fatal(err)
	}
	got := s.row(t, hit)
	if got.State != store.Done || got.Cache != store.CacheHit || string(got.Result) != "result" || !got.EndTime.Equal(begin) {
		t.Errorf("got %+v", got)
	}
	if err := s.Record(t.Context(), hit); !errors.Is(err, store.ErrExists) {
		t.Errorf("a second row for the key: %v", err)
	}
	miss, neither := execution("cached", "miss"), execution("cached", "neither")
	miss.Cache, miss.TurnID, miss.Tool, miss.CreateTime = store.CacheMiss, "trn_2", "n__b", begin.Add(-time.Second)
	neither.TurnID, neither.Tool = "trn_2", "n__c"
	s.open(t, miss)
	s.open(t, neither)
	s.open(t, func() store.Execution { e := execution("other", "cached"); e.Cache = store.CacheHit; return e }())

	for since, want := range map[time.Time]store.CacheUse{
		begin.Add(-time.Second): {Hits: 1, Misses: 1}, begin: {Hits: 1}, begin.Add(time.Second): {},
	} {
		if got, err := s.CacheUse(t.Context(), "cached", since); got != want || err != nil {
			t.Errorf("since %v: %+v, %v; want %+v", since, got, err, want)
		}
	}
	for _, row := range []struct {
		what string
		e    store.Execution
		want bool
	}{
		{"the same call of the turn", hit, true},
		{"of another turn", store.Execution{Tenant: "cached", TurnID: "trn_2", Tool: hit.Tool, ArgumentsHash: hit.ArgumentsHash}, false},
		{"with other arguments", store.Execution{Tenant: "cached", TurnID: hit.TurnID, Tool: hit.Tool, ArgumentsHash: "cd"}, false},
		{"of another tool", store.Execution{Tenant: "cached", TurnID: hit.TurnID, Tool: "n__b", ArgumentsHash: hit.ArgumentsHash}, false},
		{"of another tenant", store.Execution{Tenant: "no", TurnID: hit.TurnID, Tool: hit.Tool, ArgumentsHash: hit.ArgumentsHash}, false},
	} {
		if got, err := s.Repeated(t.Context(), row.e); got != row.want || err != nil {
			t.Errorf("%s: %v, %v", row.what, got, err)
		}
	}
	kept, err := s.Kept(t.Context(), "cached", []string{"trn_1", "trn_2", "trn_3"})
	var tools []string
	for _, e := range kept {
		tools = append(tools, e.Source+" "+e.Tool)
	}
	slices.Sort(tools)
	if !slices.Equal(tools, []string{"n n__a", "n n__b"}) || err != nil {
		t.Errorf("tools whose results may be in the cache: %v, %v", tools, err)
	}
}
