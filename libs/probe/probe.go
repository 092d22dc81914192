// Package probe serves liveness and readiness over HTTP.
package probe

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"
)

// timeout bounds all checks of one request together.
const timeout = 2 * time.Second

// Check returns an error if something that the process needs is not available.
type Check = func(context.Context) error

// readiness is the response of Ready.
type readiness struct {
	Status   string            `json:"status"` // "ready" or "not ready"
	NotReady []string          `json:"not_ready"`
	Checks   map[string]string `json:"checks"` // "ok" or "not ready", by name
}

// Live responds that the process is serving.
func Live() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, map[string]string{"status": "ok"})
	})
}

// Ready runs all checks concurrently and responds 200, or 503 with the names of those that failed. The causes are only logged. checks is
// called for each request.
func Ready(log *slog.Logger, checks func() map[string]Check) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		defer cancel()
		out := ask(ctx, log, checks())
		code := http.StatusOK
		if len(out.NotReady) > 0 {
			code = http.StatusServiceUnavailable
		}
		write(w, code, out)
	})
}

func ask(ctx context.Context, log *slog.Logger, checks map[string]Check) readiness {
	out := readiness{Status: "ready", NotReady: []string{}, Checks: map[string]string{}}
	var (
		mu sync.Mutex
		wg sync.WaitGroup
	)
	for name, check := range checks {
		wg.Go(func() {
			err := check(ctx)
			mu.Lock()
			defer mu.Unlock()
			out.Checks[name] = "ok"
			if err != nil {
				out.Checks[name], out.Status = "not ready", "not ready"
				out.NotReady = append(out.NotReady, name)
				log.WarnContext(ctx, "not ready", "check", name, "error", err)
			}
		})
	}
	wg.Wait()
	slices.Sort(out.NotReady)
	return out
}

func write(w http.ResponseWriter, code int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		code, body = http.StatusInternalServerError, []byte(`{"status":"not ready"}`) // strings always encode
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_, _ = w.Write(append(body, '\n')) // the client may be gone
}
