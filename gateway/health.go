package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
)

// readyTimeout bounds all checks of /readyz together.
const readyTimeout = 2 * time.Second

// readiness is the answer of /readyz.
type readiness struct {
	Status   string            `json:"status"` // "ready" or "not ready"
	NotReady []string          `json:"not_ready"`
	Checks   map[string]string `json:"checks"` // "ok" or "not ready", by name
}

// healthz says that the process serves.
func healthz(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

// readyz says whether the gateway and all it needs take calls; 503 names what does not. Why is in the log.
func (g *Gateway) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	out := readiness{Status: "ready", NotReady: []string{}, Checks: map[string]string{}}
	var (
		mu sync.Mutex
		wg sync.WaitGroup
	)
	for name, check := range g.checks() {
		wg.Go(func() {
			err := check(ctx)
			mu.Lock()
			defer mu.Unlock()
			out.Checks[name] = "ok"
			if err != nil {
				out.Checks[name] = "not ready"
				out.NotReady = append(out.NotReady, name)
				g.deps.Log.WarnContext(ctx, "not ready", "check", name, "error", err)
			}
		})
	}
	wg.Wait()
	code := http.StatusOK
	if len(out.NotReady) > 0 {
		slices.Sort(out.NotReady)
		out.Status, code = "not ready", http.StatusServiceUnavailable
	}
	writeJSON(w, code, out)
}

func (g *Gateway) checks() map[string]func(context.Context) error {
	all := map[string]func(context.Context) error{}
	maps.Copy(all, g.deps.Ready)
	for name, conn := range map[string]Conn{
		"sessions": g.deps.Sessions, "registry": g.deps.Registry, "policy": g.deps.Policy, "inference": g.deps.Inference,
	} {
		all[name] = func(ctx context.Context) error { return serving(ctx, conn) }
	}
	return all
}

func serving(ctx context.Context, conn Conn) error {
	resp, err := healthv1.NewHealthClient(conn).Check(ctx, &healthv1.HealthCheckRequest{}, grpc.WaitForReady(false))
	if err != nil {
		return err //nolint:wrapcheck // logged with the check's name
	}
	if s := resp.GetStatus(); s != healthv1.HealthCheckResponse_SERVING {
		return errors.New("health is " + s.String())
	}
	return nil
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		code, body = http.StatusInternalServerError, []byte(`{"status":"not ready"}`) // texts are always writable
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_, _ = w.Write(append(body, '\n'))
}
