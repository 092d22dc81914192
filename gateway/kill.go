package gateway

import (
	"net/http"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/gateway/problem"
	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// localUser lets the local user POST, unless a page of another origin does.
func (i *identity) localUser(w http.ResponseWriter, r *http.Request, to route) {
	if r.Method != http.MethodPost {
		problem.NotFound(w, r)
		return
	}
	c, ok := i.admit(w, r, authn.PeerOf(r))
	switch {
	case !ok:
	case authn.IsLocal(c.principal):
		to.handler.ServeHTTP(w, r)
	default:
		problem.Write(w, r, fault.New(codes.PermissionDenied, faultv1.Reason_REASON_PERMISSION_DENIED,
			"only the local user may end this process").Hint("Open the console on the machine that Windlass runs on."))
	}
}

// kill answers 202 and ends the process.
func (g *Gateway) kill(w http.ResponseWriter, r *http.Request) {
	g.deps.Log.WarnContext(r.Context(), "killed from the console")
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(http.StatusAccepted)
	_ = http.NewResponseController(w).Flush() // the answer must leave before the process does
	g.deps.Kill()
}
