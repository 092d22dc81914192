package probe_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/probe"
)

func TestReady(t *testing.T) {
	ok := func(context.Context) error { return nil }
	bad := func(context.Context) error { return errors.New("secret detail") }
	rows := []struct {
		name   string
		checks map[string]probe.Check
		code   int
		want   string
	}{
		{"nothing to check", nil, http.StatusOK, `{"status":"ready","not_ready":[],"checks":{}}`},
		{"all well", map[string]probe.Check{"a": ok}, http.StatusOK, `{"status":"ready","not_ready":[],"checks":{"a":"ok"}}`},
		{
			"one away",
			map[string]probe.Check{"a": ok, "b": bad},
			http.StatusServiceUnavailable,
			`{"status":"not ready","not_ready":["b"],"checks":{"a":"ok","b":"not ready"}}`,
		},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			rec := httptest.NewRecorder()
			probe.Ready(slog.New(slog.DiscardHandler), func() map[string]probe.Check { return r.checks }).
				ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/readyz", nil))
			if got := strings.TrimSpace(rec.Body.String()); rec.Code != r.code || got != r.want {
				t.Errorf("%d %s, want %d %s", rec.Code, got, r.code, r.want)
			}
		})
	}
}

func TestLive(t *testing.T) {
	rec := httptest.NewRecorder()
	probe.Live().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/healthz", nil))
	if rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), "ok") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}
