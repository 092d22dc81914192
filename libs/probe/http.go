package probe

import (
	"context"
	"encoding/json"
	"net/http"
)

// readiness is the response of Ready.
type readiness struct {
	// Status is "ready", "degraded" or "not ready".
	Status string `json:"status"`
	// NotReady and Degraded name the checks that failed.
	NotReady []string `json:"not_ready"`
	Degraded []string `json:"degraded"`
	// Checks holds "ok", "degraded" or "not ready" by name.
	Checks map[string]string `json:"checks"`
	// Causes explains the checks that failed, by name.
	Causes map[string]cause `json:"causes"`
}

type cause struct {
	Cause  string `json:"cause"`
	Action string `json:"action,omitempty"`
}

// Live responds that the process is serving.
func Live() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, map[string]string{"status": "ok"})
	})
}

// Ready responds 503 if a check failed, else 200, in both cases with all results for those who may see them, and else with the status only.
func Ready(results func(context.Context) []Result, details func(*http.Request) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := answer(results(r.Context()))
		code := http.StatusOK
		if len(out.NotReady) > 0 {
			code = http.StatusServiceUnavailable
		}
		if !details(r) {
			write(w, code, map[string]string{"status": out.Status})
			return
		}
		write(w, code, out)
	})
}

func answer(results []Result) readiness {
	out := readiness{Status: "ready", NotReady: []string{}, Degraded: []string{}, Checks: map[string]string{}, Causes: map[string]cause{}}
	worst := OK
	for _, r := range results {
		out.Checks[r.Name] = r.State.String()
		worst = max(worst, r.State)
		switch r.State {
		case OK:
			continue
		case Degraded:
			out.Degraded = append(out.Degraded, r.Name)
		case Failed:
			out.NotReady = append(out.NotReady, r.Name)
		}
		out.Causes[r.Name] = cause{r.Cause, r.Action}
	}
	if worst != OK {
		out.Status = worst.String()
	}
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
