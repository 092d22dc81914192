package gateway

import (
	"net/http"

	"github.com/windlass-dev/windlass/gateway/problem"
)

// kill answers 202 and ends the process. It takes the same callers as the API: on this machine, and not from pages of other origins.
func (g *Gateway) kill(w http.ResponseWriter, r *http.Request) {
	if err := g.allowed(r); err != nil {
		problem.Write(w, r, err)
		return
	}
	g.deps.Log.WarnContext(r.Context(), "killed from the console")
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(http.StatusAccepted)
	_ = http.NewResponseController(w).Flush() // the answer must leave before the process does
	g.deps.Kill()
}
