package execute

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/backoff"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/faultpoint"
	"github.com/windlass-dev/windlass/libs/glob"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry/builtin"
	"github.com/windlass-dev/windlass/services/registry/kinds"
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

// send calls the tool and closes the row, which always records what is known. doubt means that an earlier attempt may have run.
func (x *Executor) send(ctx context.Context, f *flight, r *request, t store.Tool, e *entry, doubt bool) (Outcome, error) {
	if t.Effect != store.Read && !f.bind() {
		return x.finish(ctx, r, t, e, 0, source.Reply{}, doubted(source.Unsent(cancelled()), doubt))
	}
	faultpoint.Hit(faultpoint.ToolOpened)
	f.tell(Event{Executing: e.row.ID})
	limit := x.deps.Upstream.CallTimeout(t.Source)
	callCtx, cancel := context.WithTimeout(ctx, limit+grace)
	defer cancel()
	begin, attempts := time.Now(), e.row.Attempts
	reply, failure, err := x.exchange(callCtx, f, r, t, e, begin.Add(limit))
	faultpoint.Hit(faultpoint.ToolDone)
	latency := time.Since(begin)
	if err != nil {
		return Outcome{}, err
	}
	late := latency >= limit || callCtx.Err() != nil
	if failure != nil && failure.Outcome == source.InDoubt && ctx.Err() == nil && (late || failure.Fault.Code == codes.DeadlineExceeded) {
		failure = &source.Error{Outcome: failure.Outcome, Fault: timedOut(r.Tool, limit)}
	}
	return x.finish(ctx, r, t, e, latency, reply, doubted(failure, doubt || e.row.Attempts > attempts))
}

// doubted returns the failure of a call that may have run before: that its last attempt did not run says nothing about earlier ones.
func doubted(failure *source.Error, before bool) *source.Error {
	if before && failure != nil && failure.NothingSent() {
		return source.Doubtful(failure.Fault)
	}
	return failure
}

// exchange sends the call until there is an answer, retrying is pointless, or its time is up. The error is the ledger's.
//
// This is the only place that repeats calls. Below it, the bridge resends a call only in a new session if the server lost the session, and
// the HTTP client only what was not written at all. Above it, a worker repeats a step whose registry did not answer, which leads to the
// same row, and accepts a failure here as the call's result.
func (x *Executor) exchange(ctx context.Context, f *flight, r *request, t store.Tool, e *entry,
	until time.Time,
) (source.Reply, *source.Error, error) {
	by := source.Caller{Principal: r.Principal, SessionID: r.SessionID}
	req := source.Request{
		Source: t.Source, Tool: t.OriginalName, Definition: t.DefinitionHash, Effect: t.Effect,
		Arguments: r.args, By: by, Until: until, CanAsk: r.CanWait || slices.Contains(r.Accepts, source.Elicitation), Accepts: r.Accepts,
		LogLevel: r.LogLevel, Answer: r.Input, ProviderData: r.ProviderData, Token: r.Token,
		Meta: map[string]string{
			"windlass/idempotency_key": r.Key, "windlass/turn_id": r.TurnID, "windlass/session_id": r.SessionID, "windlass/call_id": r.CallID,
		},
	}
	if t.Source.Spec.SessionContext && r.SessionID != "" {
		more, err := x.deps.Origins.Meta(ctx, r.Principal, r.SessionID, r.RunnerID)
		if err != nil {
			return source.Reply{}, source.Unsent(fault.From(err)), nil
		}
		maps.Copy(req.Meta, more)
	}
	maps.DeleteFunc(req.Meta, func(_, v string) bool { return v == "" })
	retries, reconnects := x.cfg.retries().Start(), x.cfg.reconnects().Start()
	sends, bridgeAttempts, serverAttempts := 1, 1, 1
	var patience time.Time // until when the tool server may be restarting
	for {
		reply, err := x.deps.Upstream.Call(ctx, req, func(n source.Notice) { f.tell(Event{Progress: n.Progress, Log: n.Log}) })
		if err == nil {
			return reply, nil, nil
		}
		failure, pauses := asFailure(err), retries
		if patience.IsZero() && failure.ServerAway() {
			patience = time.Now().Add(x.cfg.RestartPatience)
		}
		switch {
		case ctx.Err() != nil || failure.Fault.Code == codes.DeadlineExceeded || !time.Now().Before(until):
			return source.Reply{}, failure, nil
		case failure.Outcome == source.Away && bridgeAttempts < maxBridgeAttempts:
			bridgeAttempts++
		case failure.ServerAway() && (serverAttempts < maxServerAttempts || time.Now().Before(patience)):
			serverAttempts++
			pauses = reconnects
		case failure.Outcome == source.InDoubt && t.Effect.Repeatable() && sends < maxSends:
			sends++
			if err := e.again(ctx); err != nil {
				return source.Reply{}, nil, err
			}
		default:
			return source.Reply{}, failure, nil
		}
		// The other side may say when to come back; a call that has no time for that ends here.
		wait := failure.Fault.Retry
		if wait > 0 && time.Now().Add(wait).After(until) || backoff.Sleep(ctx, wait) != nil || pauses.Wait(ctx) != nil {
			return source.Reply{}, failure, nil
		}
	}
}

func asFailure(err error) *source.Error {
	if failure, ok := errors.AsType[*source.Error](err); ok {
		return failure
	}
	return source.Doubtful(err)
}

// trusted reports whether the results of a tool are trusted: as its source says, and the mesh's own tools as they are.
func trusted(t store.Tool) bool {
	if kinds.Facts(t.Source.Kind).Own {
		return builtin.Trusted(t.OriginalName)
	}
	return glob.Any(t.Source.Spec.Trusted, t.OriginalName)
}

// finish closes the row and returns the outcome.
func (x *Executor) finish(ctx context.Context, r *request, t store.Tool, e *entry, latency time.Duration, reply source.Reply,
	failure *source.Error,
) (Outcome, error) {
	row := e.row
	row.Latency = latency
	if reply.Result != nil {
		reply.Result.Trusted = trusted(t)
	}
	out := Outcome{Result: reply.Result, Input: reply.Input, ExecutionID: row.ID, Latency: row.Latency, source: t.Source.Name}
	row.State, row.EndTime = store.Done, x.deps.Now()
	switch {
	case failure == nil && reply.Input != nil:
		row.State = store.Waiting
	case failure == nil:
	case failure.Outcome == source.TooLarge:
		out.Result, out.Code = tooLarge(r.Tool, x.cfg.MaxResultBytes), fault.CodeName(faultv1.Reason_REASON_TOO_LARGE)
	case failure.NothingSent():
		row.State = store.Failed
		out.Fault = notRun(r.Tool, failure.Fault)
		if out.Fault.Reason == faultv1.Reason_REASON_TOOL_UNAVAILABLE {
			x.deps.Unavailable(t.Source)
		}
	default:
		row.State = store.Unresolved
		out.Unresolved = !t.Effect.Repeatable()
		out.Fault = inDoubt(r.Tool, failure.Fault, t.Effect)
	}
	if out.Fault != nil {
		out.Code = fault.CodeName(out.Fault.Reason)
	}
	switch {
	case out.Input != nil:
		var err error
		if row.Result, err = proto.Marshal(out.Input); err != nil {
			return Outcome{}, fault.Internal(err)
		}
	case out.Result != nil:
		out.Result, out.Code, row.Result = x.encode(r, row.ID, out.Result, out.Code)
	}
	givenUp := ctx.Err() != nil && t.Effect.Repeatable() && out.Result == nil && out.Input == nil // the call may run again on the next request
	if givenUp {
		out.Code = fault.CodeName(faultv1.Reason_REASON_CANCELLED)
	}
	row.IsError, row.Code = out.Fault != nil || out.Result.GetIsError(), out.Code
	x.results.changed(ctx, row)
	e.close(ctx, row)
	faultpoint.Hit(faultpoint.ToolClosed)
	if givenUp {
		return out, context.Canceled
	}
	return out, nil
}

// encode returns the result of an execution as it is stored; one that is too large becomes an error for the model.
func (x *Executor) encode(r *request, execution string, result *turnv1.ToolResult, code string) (*turnv1.ToolResult, string, []byte) {
	raw, err := proto.Marshal(result)
	switch {
	case err == nil && len(raw) <= x.cfg.MaxResultBytes && r.SealResult:
		return result, code, x.deps.Results.Seal(raw, execution)
	case err == nil && len(raw) <= x.cfg.MaxResultBytes:
		return result, code, raw
	}
	result, code = tooLarge(r.Tool, x.cfg.MaxResultBytes), fault.CodeName(faultv1.Reason_REASON_TOO_LARGE)
	raw, err = proto.Marshal(result)
	if err != nil {
		raw = nil // a constant text always encodes
	}
	return result, code, raw
}

// stored returns the outcome of a finished row.
func (x *Executor) stored(row store.Execution) (Outcome, error) {
	result := &turnv1.ToolResult{}
	raw, lost := x.deps.Results.Open(row.Result, row.ID)
	if err := proto.Unmarshal(raw, result); err != nil {
		return Outcome{}, fault.Internal(err)
	}
	if lost != nil { // the key was changed: the call is over, and its result cannot be opened
		result = sealed(row.Tool)
	}
	return Outcome{Result: result, Code: row.Code, Cached: true, ExecutionID: row.ID, Latency: row.Latency, source: row.Source}, nil
}

// unresolved returns the outcome of a ONCE row in doubt.
func unresolved(row store.Execution) Outcome {
	out := failed(inDoubt(row.Tool, nil, row.Effect))
	out.Unresolved, out.Cached, out.ExecutionID, out.Latency, out.source = true, true, row.ID, row.Latency, row.Source
	return out
}
