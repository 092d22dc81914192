package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/services/registry/store"
)

// ended records an execution that ended.
func (s suite) ended(t *testing.T, tenant, key string, change func(*store.Execution)) {
	t.Helper()
	e := execution(tenant, key)
	e.State, e.EndTime = store.Done, begin
	change(&e)
	if err := s.Record(t.Context(), e); err != nil {
		t.Fatal(err)
	}
}

func (s suite) toolUsage(t *testing.T) {
	for i := range 100 {
		s.ended(t, "usage", fmt.Sprint("a", i), func(e *store.Execution) {
			e.Latency, e.Cache = time.Duration((i*37)%100+1)*time.Millisecond, store.CacheMiss // 1 to 100 ms
		})
	}
	for i := range 20 {
		s.ended(t, "usage", fmt.Sprint("hit", i), func(e *store.Execution) { e.Cache = store.CacheHit })
	}
	for key, change := range map[string]func(*store.Execution){
		"said no":    func(e *store.Execution) { e.IsError, e.Latency = true, 30*time.Millisecond },
		"failed":     func(e *store.Execution) { e.State = store.Failed },
		"unresolved": func(e *store.Execution) { e.State, e.Latency = store.Unresolved, 10*time.Millisecond },
		"open":       func(e *store.Execution) { e.State = store.Open },
	} {
		s.ended(t, "usage", key, func(e *store.Execution) { e.Tool, e.Source = "m__b", "m"; change(e) })
	}
	s.ended(t, "usage", "old", func(e *store.Execution) { e.Tool, e.CreateTime = "n__old", begin.Add(-time.Hour) })
	s.ended(t, "other usage", "a", func(*store.Execution) {})

	a := store.ToolUsage{
		Tool: "n__a", Source: "n", Calls: 120, Hits: 20, Misses: 100, Mean: 50500 * time.Microsecond, P95: 95 * time.Millisecond,
	}
	b := store.ToolUsage{Tool: "m__b", Source: "m", Calls: 4, Errors: 3, Mean: 20 * time.Millisecond, P95: 30 * time.Millisecond}
	for _, row := range []struct {
		what        string
		f           store.UsageFilter
		most, limit int
		want        []store.ToolUsage
	}{
		{"all", store.UsageFilter{Since: begin}, 1000, 10, []store.ToolUsage{a, b}},
		{"one source", store.UsageFilter{Since: begin, Source: "m"}, 1000, 10, []store.ToolUsage{b}},
		{"one tool", store.UsageFilter{Since: begin, Tool: "n__a"}, 1000, 10, []store.ToolUsage{a}},
		{"no such tool of the source", store.UsageFilter{Since: begin, Tool: "n__a", Source: "m"}, 1000, 10, nil},
		{"the most used", store.UsageFilter{Since: begin}, 1000, 1, []store.ToolUsage{a}},
		{"later", store.UsageFilter{Since: begin.Add(time.Second)}, 1000, 10, nil},
	} {
		got, err := s.ToolUsage(t.Context(), "usage", row.f, row.most, row.limit)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(row.want) {
			t.Errorf("%s: got %+v, %v; want %+v", row.what, got, err, row.want)
		}
	}
	got, err := s.ToolUsage(t.Context(), "usage", store.UsageFilter{Since: begin.Add(-2 * time.Hour)}, 124, 10)
	if err != nil || len(got) != 2 {
		t.Errorf("the last 124: %+v, %v", got, err)
	}
}

func (s suite) recent(t *testing.T) {
	for i := range 3 {
		s.ended(t, "recent", fmt.Sprint(i), func(e *store.Execution) {
			e.CreateTime, e.Tool = begin.Add(time.Duration(i)*time.Second), []string{"n__a", "n__b"}[i%2]
			e.Arguments, e.Result = `{"text":"`+strings.Repeat("é", 50)+`"}`, []byte(strings.Repeat("r", 10*(i+1)))
		})
	}
	rows, err := s.Recent(t.Context(), "recent", "", 2, 20, 20)
	if err != nil || len(rows) != 2 || rows[0].Key != "2" || rows[1].Key != "1" {
		t.Fatalf("got %+v, %v", rows, err)
	}
	if rows[0].Result != nil || len(rows[1].Result) != 20 || rows[1].Arguments != `{"text":"`+strings.Repeat("é", 11) {
		t.Errorf("results %q and %q, arguments %q", rows[0].Result, rows[1].Result, rows[1].Arguments)
	}
	if rows, err := s.Recent(t.Context(), "recent", "n__a", 10, 20, 20); err != nil || len(rows) != 2 {
		t.Errorf("of one tool: %+v, %v", rows, err)
	}
	got, err := s.ExecutionByID(t.Context(), "recent", "exe_2")
	if err != nil || len(got.Result) != 30 || !strings.HasSuffix(got.Arguments, `"}`) {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := s.ExecutionByID(t.Context(), "other", "exe_2"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("of another tenant: %v", err)
	}
}
