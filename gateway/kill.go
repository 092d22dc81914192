package gateway

import (
	"net/http"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/gateway/problem"
	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// kill answers 202 and ends the process. Only the local user may call it, and not from pages of other origins.
func (g *Gateway) kill(w http.ResponseWriter, r *http.Request) {
	caller := g.authenticate(w, r)
	if caller == nil {
		return
	}
	if !authn.IsLocal(caller) {
		problem.Write(w, r, fault.New(codes.PermissionDenied, faultv1.Reason_REASON_PERMISSION_DENIED,
			"only the local user may end this process").Hint("Open the console on the machine that Windlass runs on."))
		return
	}
	g.deps.Log.WarnContext(r.Context(), "killed from the console")
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(http.StatusAccepted)
	_ = http.NewResponseController(w).Flush() // the answer must leave before the process does
	g.deps.Kill()
}
