package execute

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/backoff"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/faultpoint"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
)

const (
	// maxSends is how often a repeatable call in doubt is sent.
	maxSends = 3
	// maxBridgeAttempts is how often an unreachable bridge is tried.
	maxBridgeAttempts = 5
	// maxServerAttempts is how often an unreachable tool server is tried, and as often as fits into Config.RestartPatience.
	maxServerAttempts = 3
	// grace is added to the bridge's timeout, so that the bridge reports it first.
	grace = 5 * time.Second
	// closeTimeout bounds the writing of a result.
	closeTimeout = 15 * time.Second
)

// send calls the tool and closes the row, which always records what is known.
func (a *attempt) send(ctx context.Context) (*Outcome, error) {
	row := a.row
	doubt := row != nil && row.State == store.Unresolved && row.Resolution.What != store.SaidNotDone // an earlier attempt may have run
	if a.tool.Effect != store.Read && !a.flight.bind() {
		return a.finish(ctx, 0, source.Reply{}, source.Unsent(cancelled()), doubt)
	}
	faultpoint.Hit(faultpoint.ToolOpened)
	a.flight.tell(Event{Executing: a.entry.row.ID})
	limit := a.x.deps.Upstream.CallTimeout(a.tool.Source)
	callCtx, cancel := context.WithTimeout(ctx, limit+grace)
	defer cancel()
	begin, attempts := time.Now(), a.entry.row.Attempts
	reply, failure, err := a.exchange(callCtx, begin.Add(limit))
	faultpoint.Hit(faultpoint.ToolDone)
	latency := time.Since(begin)
	if err != nil {
		return nil, err
	}
	late := latency >= limit || callCtx.Err() != nil
	if failure != nil && failure.Outcome == source.InDoubt && ctx.Err() == nil && (late || failure.Fault.Code == codes.DeadlineExceeded) {
		failure = &source.Error{Outcome: failure.Outcome, Fault: fault.New(codes.DeadlineExceeded, faultv1.Reason_REASON_DEADLINE_EXCEEDED,
			"the tool %q did not answer within %s", a.req.Tool, limit)}
	}
	return a.finish(ctx, latency, reply, failure, doubt || a.entry.row.Attempts > attempts)
}

// repeat says how often a call is sent again after failures of one kind.
type repeat struct {
	after    func(*source.Error) bool
	left     int           // times
	patience time.Duration // from the first such failure on; while it lasts, left does not count
	pauses   *backoff.Pauses
	record   func(context.Context) error // of a call that may have run; nil if nothing was sent
	until    time.Time                   // the end of patience
}

// repeats returns what may be repeated. Only a call in doubt may have run: it is sent again only if its effect class allows that, and the
// ledger counts it.
func (a *attempt) repeats() []*repeat {
	retries, reconnects := a.x.cfg.retries().Start(), a.x.cfg.reconnects().Start()
	bridgeAway := func(e *source.Error) bool { return e.Outcome == source.Away }
	inDoubt := func(e *source.Error) bool { return e.Outcome == source.InDoubt && a.tool.Effect.Repeatable() }
	return []*repeat{
		{after: bridgeAway, left: maxBridgeAttempts - 1, pauses: retries},
		{after: (*source.Error).ServerAway, left: maxServerAttempts - 1, patience: a.x.cfg.RestartPatience, pauses: reconnects},
		{after: inDoubt, left: maxSends - 1, pauses: retries, record: a.entry.again},
	}
}

// next reports whether the call is sent again after one more failure of this kind.
func (p *repeat) next() bool {
	if p.until.IsZero() {
		p.until = time.Now().Add(p.patience)
	}
	p.left--
	return p.left >= 0 || time.Now().Before(p.until)
}

// exchange sends the call until there is an answer, retrying is pointless, or its time is up. The error is the ledger's.
//
// This is the only place that repeats calls. Below it, the bridge resends a call only in a new session if the server lost the session, and
// the HTTP client only what was not written at all. Above it, a worker repeats a step whose registry did not answer, which leads to the
// same row, and accepts a failure here as the call's result.
func (a *attempt) exchange(ctx context.Context, until time.Time) (source.Reply, *source.Error, error) {
	req, err := a.message(ctx, until)
	if err != nil {
		return source.Reply{}, source.Unsent(err), nil
	}
	repeats := a.repeats()
	for {
		reply, err := a.x.deps.Upstream.Call(ctx, req, func(n source.Notice) { a.flight.tell(Event{Progress: n.Progress, Log: n.Log}) })
		if err == nil {
			return reply, nil, nil
		}
		failure := asFailure(err)
		again := slices.IndexFunc(repeats, func(p *repeat) bool { return p.after(failure) })
		if ctx.Err() != nil || failure.Fault.Code == codes.DeadlineExceeded || !time.Now().Before(until) ||
			again < 0 || !repeats[again].next() {
			return source.Reply{}, failure, nil
		}
		if record := repeats[again].record; record != nil {
			if err := record(ctx); err != nil {
				return source.Reply{}, nil, err
			}
		}
		// The other side may say when to come back; a call that has no time for that ends here.
		wait := failure.Fault.Retry
		if wait > 0 && time.Now().Add(wait).After(until) || backoff.Sleep(ctx, wait) != nil || repeats[again].pauses.Wait(ctx) != nil {
			return source.Reply{}, failure, nil
		}
	}
}

// message returns what is sent.
func (a *attempt) message(ctx context.Context, until time.Time) (*source.Request, error) {
	r, t := a.req, a.tool
	req := &source.Request{
		Source: t.Source, Tool: t.OriginalName, Definition: t.DefinitionHash, Effect: t.Effect,
		Arguments: r.args, Until: until,
		By:     source.Caller{Principal: r.Principal, SessionID: r.SessionID, TurnID: r.TurnID, Banks: r.Banks},
		CanAsk: r.CanWait || slices.Contains(r.Accepts, source.Elicitation), Accepts: r.Accepts,
		LogLevel: r.LogLevel, Answer: r.Input, ProviderData: r.ProviderData, Token: r.Token,
		Meta: map[string]string{
			"windlass/idempotency_key": r.Key, "windlass/turn_id": r.TurnID, "windlass/session_id": r.SessionID, "windlass/call_id": r.CallID,
		},
	}
	if t.Source.Spec.SessionContext && r.SessionID != "" {
		more, err := a.x.deps.Origins.Meta(ctx, r.Principal, r.SessionID, r.RunnerID)
		if err != nil {
			return req, err
		}
		maps.Copy(req.Meta, more)
	}
	maps.DeleteFunc(req.Meta, func(_, v string) bool { return v == "" })
	return req, nil
}

func asFailure(err error) *source.Error {
	if failure, ok := errors.AsType[*source.Error](err); ok {
		return failure
	}
	return source.Doubtful(err)
}
