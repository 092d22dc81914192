// Package api serves the bridge's gRPC service: it converts between messages and what the other packages do.
package api

import (
	"context"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/telemetry"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	"github.com/windlass-dev/windlass/services/mcpbridge/call"
	"github.com/windlass-dev/windlass/services/mcpbridge/server"
	"github.com/windlass-dev/windlass/services/mcpbridge/watch"
)

// Deps holds what the service uses; all fields are required.
type Deps struct {
	// Servers resolves the entries of servers.
	Servers *server.Resolver
	// Runner runs requests.
	Runner *call.Runner
	// Hub has what changes at servers.
	Hub *watch.Hub
	// Release ends the connections of a server once their calls are over.
	Release func(id string)
	// MaxResultBytes limits a tool's result.
	MaxResultBytes int
}

// Register adds the service to a server.
func Register(r grpc.ServiceRegistrar, d Deps) {
	mcpbridgev1.RegisterBridgeServiceServer(r, &Bridge{
		servers: d.Servers, runner: d.Runner, hub: d.Hub, release: d.Release, maxResultBytes: d.MaxResultBytes,
		tracer: telemetry.Tracer("mcpbridge"),
	})
}

// Bridge implements BridgeService.
type Bridge struct {
	mcpbridgev1.UnimplementedBridgeServiceServer
	servers        *server.Resolver
	runner         *call.Runner
	hub            *watch.Hub
	release        func(id string)
	maxResultBytes int
	tracer         trace.Tracer
}

// Discover implements BridgeService.
func (b *Bridge) Discover(ctx context.Context, req *mcpbridgev1.DiscoverRequest) (*mcpbridgev1.DiscoverResponse, error) {
	sp, err := b.servers.Resolve(req.GetServer())
	if err != nil {
		return nil, err
	}
	c, tools, err := b.runner.Discover(ctx, sp)
	if err != nil {
		return nil, err
	}
	return discoverToProto(c, tools), nil
}

// Release implements BridgeService.
func (b *Bridge) Release(_ context.Context, req *mcpbridgev1.ReleaseRequest) (*mcpbridgev1.ReleaseResponse, error) {
	b.release(req.GetServerId())
	return &mcpbridgev1.ReleaseResponse{}, nil
}
