package gateway

import (
	"context"
	"maps"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/probe"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// checks returns the checks of this process: what it was given, and that each role accepts calls.
func (g *Gateway) checks() map[string]probe.Check {
	all := map[string]probe.Check{}
	maps.Copy(all, g.deps.Ready)
	for role, conn := range g.roles() {
		all[role] = func(ctx context.Context) error { return serving(ctx, role, conn) }
		if role == "knowledge" { // agents work without their documents
			all[role] = probe.Degrades(all[role])
		}
	}
	return all
}

func (g *Gateway) roles() map[string]Conn {
	return map[string]Conn{
		"sessions": g.deps.Sessions, "registry": g.deps.Registry, "policy": g.deps.Policy, "inference": g.deps.Inference,
		"knowledge": g.deps.Knowledge,
	}
}

// health returns the results of this process and of those that the roles run in.
func (g *Gateway) health(ctx context.Context) []probe.Result {
	results := make(chan []probe.Result, len(g.deps.Health)+1)
	var wg sync.WaitGroup
	wg.Go(func() { results <- g.checker.Results(ctx) })
	for role, conn := range g.deps.Health {
		wg.Go(func() {
			remote, err := probe.Remote(ctx, conn)
			if err != nil { // whether it answers at all is a check of its own
				g.deps.Log.WarnContext(ctx, "health of a role cannot be read", "role", role, "error", err)
			}
			results <- remote
		})
	}
	wg.Wait()
	close(results)
	var all []probe.Result
	for r := range results {
		all = probe.Merge(all, r)
	}
	return all
}

func serving(ctx context.Context, role string, conn Conn) error {
	resp, err := healthv1.NewHealthClient(conn).Check(ctx, &healthv1.HealthCheckRequest{}, grpc.WaitForReady(false))
	why := "does not answer"
	switch {
	case err == nil && resp.GetStatus() == healthv1.HealthCheckResponse_SERVING:
		return nil
	case err == nil:
		why = "is starting or stopping"
	case status.Code(err) == codes.DeadlineExceeded:
		why = "does not answer in time"
	}
	return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "role %s %s", role, why).
		Hint("Check that its process runs, its address in mesh.targets, and its log.").Cause(err)
}
