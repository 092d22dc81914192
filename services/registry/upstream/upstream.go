// Package upstream calls the sources of tools, whatever their kind: with the logins of users, within limits, and not while they cannot be
// reached.
package upstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	"github.com/windlass-dev/windlass/services/registry/kinds"
	"github.com/windlass-dev/windlass/services/registry/login"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// Config limits the calls of a source.
type Config struct {
	// BreakerFailures is how often in a row a source may be unreachable before its calls are stopped for BreakerPause.
	BreakerFailures int
	BreakerPause    time.Duration
	// RestartPatience is for how long at least a source must have been unreachable before that.
	RestartPatience time.Duration
	// MaxCalls is how many calls of one source run in parallel; more wait for QueueTimeout.
	MaxCalls     int
	QueueTimeout time.Duration
}

// Deps holds the dependencies of an Upstream; all are required.
type Deps struct {
	// Kinds is what the drivers need.
	Kinds kinds.Deps
	// Logins has the tokens of users, for sources that want a login of each user; nil refuses those.
	Logins login.Tokens
	// Grants gets tokens of users from their issuer; nil refuses sources with the auth kind exchange.
	Grants Grants
	// Log receives changes of breakers.
	Log *slog.Logger
}

// Upstream calls all kinds of sources. It is safe for concurrent use.
type Upstream struct {
	*source.Env
	bridge   mcpbridgev1.BridgeServiceClient
	drivers  map[string]source.Driver // by kind
	logins   logins
	breakers *breakers
	limits   *limits
}

// New returns an Upstream.
func New(cfg Config, deps Deps) *Upstream {
	return &Upstream{
		Env: deps.Kinds.Env, bridge: deps.Kinds.Bridge, drivers: kinds.Open(deps.Kinds), logins: logins{deps.Logins, deps.Grants},
		breakers: &breakers{
			failures: uint32(max(cfg.BreakerFailures, 1)), pause: cfg.BreakerPause, patience: cfg.RestartPatience, log: deps.Log,
			bySource: map[string]breaker{},
		},
		limits: &limits{calls: max(cfg.MaxCalls, 1), queue: cfg.QueueTimeout, bySource: map[string]*limit{}},
	}
}

// Close closes the connections that are kept open. Calls after it open new ones.
func (u *Upstream) Close() {
	for _, d := range u.drivers {
		if c, ok := d.(interface{ Close() }); ok {
			c.Close()
		}
	}
}

// driver returns what calls a source.
func (u *Upstream) driver(s store.Source) (source.Driver, error) {
	d, ok := u.drivers[s.Kind]
	if !ok {
		return nil, fault.Internal(fmt.Errorf("source %q is of an unknown kind %q", s.Name, s.Kind))
	}
	return d, nil
}

// Breaker returns the state of a source's breaker: "closed" (calls are sent), "open" or "half_open"; empty for the mesh's own.
func (u *Upstream) Breaker(s store.Source) string {
	if kinds.Facts(s.Kind).Own {
		return ""
	}
	return u.breakers.state(s)
}

// Discover lists a source's tools. The error is a fault for the source's owner.
func (u *Upstream) Discover(ctx context.Context, s store.Source) (store.Inventory, error) {
	d, err := u.driver(s)
	if err != nil {
		return store.Inventory{}, err
	}
	facts := kinds.Facts(s.Kind)
	public, ok := d.(source.Public)
	open := facts.Silent || ok && public.Public(s)
	return u.logins.discover(ctx, s, open, func(as source.User) (store.Inventory, error) {
		inv, err := d.Discover(ctx, s, as)
		_, short := errors.AsType[*source.ScopesError](err)
		switch {
		case err != nil && !short && !errors.Is(err, source.ErrRefused):
			return store.Inventory{}, unreachable(s, err)
		case err == nil && !facts.Silent:
			u.breakers.reached(s.ID)
		}
		return inv, err
	})
}

// unreachable returns the fault of a failed sync. Faults that the owner can fix keep their reason.
func unreachable(s store.Source, err error) error {
	f := fault.From(err)
	switch {
	case f.Code == codes.InvalidArgument:
		return source.Invalid(f)
	case f.Reason == faultv1.Reason_REASON_TOOL_UNAVAILABLE, f.Reason == faultv1.Reason_REASON_EGRESS_DENIED, f.Code == codes.Canceled:
		return f
	case f.Code == codes.DeadlineExceeded:
		return fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "source %q did not answer in time", s.Name).Cause(err)
	default:
		return fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "source %q cannot be reached: %s", s.Name, f.Message).Cause(err)
	}
}

// Watch calls on for each event of an MCP server, until the stream breaks or ctx ends.
func (u *Upstream) Watch(ctx context.Context, on func(serverID string, change mcpbridgev1.ServerChange)) error {
	stream, err := u.bridge.Watch(ctx, &mcpbridgev1.WatchRequest{})
	if err != nil {
		return fmt.Errorf("watch the bridge: %w", err)
	}
	for {
		event, err := stream.Recv()
		if err != nil {
			return fmt.Errorf("watch the bridge: %w", err)
		}
		on(event.GetServerId(), event.GetChange())
	}
}

// Reread has the next Discover read the source's description, even if it was just read.
func (u *Upstream) Reread(s store.Source) {
	if d, ok := u.drivers[s.Kind].(source.Rereader); ok {
		d.Reread(s)
	}
}

// Release closes what is kept open for a source.
func (u *Upstream) Release(ctx context.Context, s store.Source) error {
	u.breakers.reached(s.ID)
	u.limits.forget(s)
	u.Credentials.Forget(source.Owner(s, source.User{}).ID)
	if d, ok := u.drivers[s.Kind].(source.Releaser); ok {
		return d.Release(ctx, s)
	}
	return nil
}

// Call sends one call and returns the tool's answer. Errors are of *source.Error.
func (u *Upstream) Call(ctx context.Context, r *source.Request, notice func(source.Notice)) (source.Reply, error) {
	d, err := u.driver(r.Source)
	if err != nil {
		return source.Reply{}, source.Unsent(err)
	}
	if kinds.Facts(r.Source.Kind).Own {
		return d.Call(ctx, r, notice)
	}
	if r.Given, err = source.Provide(u.Sealer, r); err != nil {
		return source.Reply{}, source.Unsent(err)
	}
	end, failure := u.limits.enter(ctx, r.Source)
	if failure != nil {
		return source.Reply{}, failure
	}
	defer end()
	return u.logins.call(ctx, r, func(r *source.Request) (source.Reply, error) {
		reply, err := u.breakers.call(r.Source, func() (source.Reply, error) { return d.Call(ctx, r, notice) })
		if reply.TokenRefused {
			u.logins.refused(r)
		}
		return reply, err
	})
}

// Forward sends one request about resources, prompts or completions to a source that offers them.
func (u *Upstream) Forward(ctx context.Context, s store.Source, method string, params []byte, accepts []string,
) (*mcpbridgev1.ForwardResponse, error) {
	d, err := u.server(s)
	if err != nil {
		return nil, err
	}
	end, failure := u.limits.enter(ctx, s)
	if failure != nil {
		return nil, failure.Fault
	}
	defer end()
	var resp *mcpbridgev1.ForwardResponse
	err = u.logins.with(ctx, s, authn.From(ctx).GetSubject(), func(as source.User) error {
		_, err := u.breakers.call(s, func() (_ source.Reply, err error) {
			resp, err = d.Forward(ctx, s, as, method, params, accepts)
			return source.Reply{}, err
		})
		return err
	})
	if failure, ok := errors.AsType[*source.Error](err); ok {
		return nil, failure.Fault
	}
	return resp, err
}

// WatchResources calls on with what has changed of offers, and first with nothing when the server has accepted the subscription.
func (u *Upstream) WatchResources(ctx context.Context, s store.Source, offers source.Offers, on func(changed source.Offers) error) error {
	d, err := u.server(s)
	if err != nil {
		return err
	}
	return u.logins.with(ctx, s, authn.From(ctx).GetSubject(), func(as source.User) error {
		return d.WatchResources(ctx, s, as, offers, on)
	})
}

func (u *Upstream) server(s store.Source) (source.Server, error) {
	d, ok := u.drivers[s.Kind].(source.Server)
	if !ok {
		return nil, fault.NotFound("source %q offers no resources or prompts", s.Name)
	}
	return d, nil
}
