package rpc

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// Notifier is an Authorizer that knows when permissions may have changed.
type Notifier interface {
	// Changed returns a channel that is closed at the next change.
	Changed() <-chan struct{}
}

// rechecks is the number of concurrent decisions about open streams.
const rechecks = 16

// permitted are the open streams of a server. They end when their callers lose the permission for them, and each user has so many at most.
type permitted struct {
	server *Server
	begin  sync.Once

	mu    sync.Mutex
	open  map[*permittedStream]struct{}
	users map[streamUser]int
}

// streamUser is whose streams are counted.
type streamUser struct{ tenant, subject string }

// defaultUserStreams bounds the open streams of one user in a process.
const defaultUserStreams = 10_000

type permittedStream struct {
	ctx        context.Context
	principal  *policyv1.Principal
	method     string
	permission string
	end        context.CancelCauseFunc
}

// hold returns a context of a stream that ends when the caller loses the permission; its cause is the error for the caller. A user who has
// too many streams gets an error.
func (p *permitted) hold(ctx context.Context, method string) (context.Context, context.CancelFunc, error) {
	permission := p.server.permissions[method]
	if permission == Public || permission == Authenticated {
		ctx, cancel := context.WithCancel(ctx)
		return ctx, cancel, nil
	}
	who := authn.From(ctx)
	ctx, end := context.WithCancelCause(ctx)
	s := &permittedStream{ctx, who, method, permission, end}
	user := streamUser{who.GetTenant(), who.GetSubject()}
	if !p.add(s, user) {
		end(context.Canceled)
		return nil, nil, fault.New(codes.ResourceExhausted, faultv1.Reason_REASON_RATE_LIMITED, "you have %d open streams",
			p.server.cfg.UserStreams).
			Hint("Close streams that are not read any more.")
	}
	p.begin.Do(func() { go p.watch(p.server.stopping) })
	return ctx, func() {
		p.remove(s, user)
		end(context.Canceled)
	}, nil
}

// add counts a stream; false if its user has too many. Those of roles are not limited: they are made for many users.
func (p *permitted) add(s *permittedStream, user streamUser) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.principal.GetKind() == policyv1.PrincipalKind_PRINCIPAL_KIND_USER && p.users[user] >= p.server.cfg.UserStreams {
		return false
	}
	p.open[s] = struct{}{}
	p.users[user]++
	return true
}

func (p *permitted) remove(s *permittedStream, user streamUser) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, s)
	if p.users[user]--; p.users[user] == 0 {
		delete(p.users, user)
	}
}

// watch decides about the open streams again when permissions change, and as often as tokens are verified again.
func (p *permitted) watch(ctx context.Context) {
	tick := time.NewTicker(authn.Recheck)
	defer tick.Stop()
	notifier, _ := p.server.cfg.Authorizer.(Notifier)
	for {
		var changed <-chan struct{}
		if notifier != nil {
			changed = notifier.Changed()
		}
		p.recheck(ctx)
		select {
		case <-changed:
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// recheck ends the streams whose callers are denied now. Those about whom there is no answer go on.
func (p *permitted) recheck(ctx context.Context) {
	var g errgroup.Group
	g.SetLimit(rechecks)
	for _, s := range p.all() {
		g.Go(func() error {
			verdict, err := p.server.cfg.Authorizer.Decide(ctx, s.principal, s.permission)
			if err == nil && !verdict.Allowed && s.ctx.Err() == nil {
				p.server.cfg.Authorizer.RecordDenied(s.ctx, s.principal, s.permission, s.method)
				s.end(fault.Denied(s.permission, verdict.DeniedBy))
			}
			return nil
		})
	}
	_ = g.Wait() // none fails
}

func (p *permitted) all() []*permittedStream {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]*permittedStream, 0, len(p.open))
	for s := range p.open {
		out = append(out, s)
	}
	return out
}
