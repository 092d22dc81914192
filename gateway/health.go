package gateway

import (
	"context"
	"errors"
	"maps"

	"google.golang.org/grpc"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/windlass-dev/windlass/libs/probe"
)

// checks returns the checks that must pass before the gateway accepts calls.
func (g *Gateway) checks() map[string]probe.Check {
	all := map[string]probe.Check{}
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
