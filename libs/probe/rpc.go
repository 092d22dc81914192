package probe

import (
	"context"

	"google.golang.org/grpc"

	healthv1 "github.com/windlass-dev/windlass/proto/gen/windlass/health/v1"
)

// Server implements HealthService with the checks of this process.
type Server struct {
	healthv1.UnimplementedHealthServiceServer
	checker *Checker
}

// NewServer returns a Server.
func NewServer(c *Checker) *Server { return &Server{checker: c} }

// Register adds the service to a server.
func (s *Server) Register(r grpc.ServiceRegistrar) { healthv1.RegisterHealthServiceServer(r, s) }

// GetHealth implements HealthService.
func (s *Server) GetHealth(ctx context.Context, _ *healthv1.GetHealthRequest) (*healthv1.GetHealthResponse, error) {
	out := &healthv1.GetHealthResponse{}
	for _, r := range s.checker.Results(ctx) {
		out.Checks = append(out.Checks, &healthv1.Check{
			Name: r.Name, State: healthv1.CheckState(r.State) + healthv1.CheckState_CHECK_STATE_OK, Cause: r.Cause, Action: r.Action,
		})
	}
	return out, nil
}

// Remote returns the results of another process. What fails there degrades this
// process only, which can do its own work: a load balancer must not take away every gateway because one database is full.
func Remote(ctx context.Context, conn grpc.ClientConnInterface) ([]Result, error) {
	resp, err := healthv1.NewHealthServiceClient(conn).GetHealth(ctx, &healthv1.GetHealthRequest{})
	if err != nil {
		return nil, err
	}
	var out []Result
	for _, c := range resp.GetChecks() {
		out = append(out, Result{Name: c.GetName(), State: min(stateOf(c.GetState()), Degraded), Cause: c.GetCause(), Action: c.GetAction()})
	}
	return out, nil
}

func stateOf(s healthv1.CheckState) State {
	switch s {
	case healthv1.CheckState_CHECK_STATE_OK:
		return OK
	case healthv1.CheckState_CHECK_STATE_DEGRADED:
		return Degraded
	}
	return Failed
}
