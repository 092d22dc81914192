package probe_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/probe"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

func checker(checks map[string]probe.Check) *probe.Checker {
	return probe.NewChecker(slog.New(slog.DiscardHandler), func() map[string]probe.Check { return checks })
}

func ok(context.Context) error  { return nil }
func bad(context.Context) error { return errors.New("secret detail") }

func full(context.Context) error {
	return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "disk is full").Hint("Free some.").Cause(errors.New("secret detail"))
}

const empty = `"degraded":[],"checks":{},"causes":{}}`

func TestReady(t *testing.T) {
	rows := []struct {
		name   string
		checks map[string]probe.Check
		code   int
		want   string
	}{
		{"nothing to check", nil, http.StatusOK, `{"status":"ready","not_ready":[],` + empty},
		{
			"all well",
			map[string]probe.Check{"a": ok},
			http.StatusOK,
			`{"status":"ready","not_ready":[],"degraded":[],"checks":{"a":"ok"},"causes":{}}`,
		},
		{
			"one away",
			map[string]probe.Check{"a": ok, "b": bad},
			http.StatusServiceUnavailable,
			`{"status":"not ready","not_ready":["b"],"degraded":[],"checks":{"a":"ok","b":"not ready"},` +
				`"causes":{"b":{"cause":"does not work","action":"The cause is in the log of the process."}}}`,
		},
		{
			"a cause for users",
			map[string]probe.Check{"a": full},
			http.StatusServiceUnavailable,
			`{"status":"not ready","not_ready":["a"],"degraded":[],"checks":{"a":"not ready"},` +
				`"causes":{"a":{"cause":"disk is full","action":"Free some."}}}`,
		},
		{
			"calls are accepted all the same",
			map[string]probe.Check{"a": probe.Degrades(full), "b": probe.Degrades(ok)},
			http.StatusOK,
			`{"status":"degraded","not_ready":[],"degraded":["a"],"checks":{"a":"degraded","b":"ok"},` +
				`"causes":{"a":{"cause":"disk is full","action":"Free some."}}}`,
		},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			rec := httptest.NewRecorder()
			all := func(*http.Request) bool { return true }
			probe.Ready(checker(r.checks).Results, all).ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/readyz", nil))
			if got := strings.TrimSpace(rec.Body.String()); rec.Code != r.code || got != r.want {
				t.Errorf("%d %s, want %d %s", rec.Code, got, r.code, r.want)
			}
		})
	}
}

// TestChecksRunOnceInASecond: however often they are asked for, and even if one never answers.
func TestChecksRunOnceInASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int64
		c := checker(map[string]probe.Check{"silent": func(ctx context.Context) error {
			runs.Add(1)
			<-ctx.Done()
			return ctx.Err()
		}})
		ctx, gone := context.WithCancel(t.Context())
		gone() // a client that hangs up spoils no result
		for range 10 {
			go c.Results(ctx)
		}
		got := c.Results(ctx)
		synctest.Wait()
		if len(got) != 1 || got[0].State != probe.Failed || got[0].Cause != "does not answer within 2s" || runs.Load() != 1 {
			t.Errorf("%+v after %d runs", got, runs.Load())
		}
		time.Sleep(time.Second)
		c.Results(ctx)
		if runs.Load() != 2 {
			t.Errorf("%d runs", runs.Load())
		}
	})
}

func TestResultsOfOtherProcesses(t *testing.T) {
	server := probe.NewServer(checker(map[string]probe.Check{"a": ok, "b": probe.Degrades(full), "c": full}))
	got, err := probe.Remote(t.Context(), rpctest.Serve(t, "sessions", server.Register))
	if err != nil {
		t.Fatal(err)
	}
	all := probe.Merge([]probe.Result{{Name: "b"}, {Name: "c"}, {Name: "d"}}, got)
	var text []string
	for _, r := range all {
		text = append(text, r.Name+" "+r.State.String()+" "+r.Cause)
	}
	if s := strings.Join(text, "|"); s != "a ok |b degraded disk is full|c degraded disk is full|d ok " {
		t.Error(s)
	}
}

func TestLive(t *testing.T) {
	rec := httptest.NewRecorder()
	probe.Live().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/healthz", nil))
	if rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), "ok") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}
