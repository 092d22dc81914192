package mcpbridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"go.opentelemetry.io/otel/propagation"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// call is one call of a tool.
type call struct {
	tool      string
	arguments json.RawMessage // a JSON object
	meta      map[string]string
	given     given
	notice    func(notice) error // an error ends the call
	canAsk    bool               // the tool may ask the user
	accepts   []string           // methods of the server's requests that the caller answers itself
	logLevel  string             // lowest level of log messages that the caller wants; empty = none
	answer    userAnswer         // the user's answer, if an earlier attempt asked
	responses responses          // the caller's answers to the server's requests
	state     askState           // the state of that question
}

// run waits for a slot, connects if needed and runs the call, all within the call's time. The result is the server's answer, including its
// refusals. Errors are
// UNAVAILABLE if the call certainly did not run, a *sendError if the answer was too large to read, and ABORTED/OUTCOME_UNKNOWN otherwise.
func (s *Service) run(ctx context.Context, sp *spec, in call) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, sp.callTimeout)
	defer cancel()
	var refused error
	for attempt := 0; ; attempt++ {
		u, err := s.pool.get(sp)
		if err != nil {
			return nil, doubted(sp, in.tool, notCalled(sp, err), refused)
		}
		a, err := s.runOn(ctx, u, sp, in, &refused)
		switch {
		case err == nil:
			return a, nil
		case errors.Is(err, errRetired) && attempt < maxAttempts:
			continue
		}
		if f := fault.As(err); f != nil {
			return nil, f
		}
		e := asSendError(err)
		if e.tooLarge { // it answered
			return nil, e
		}
		if e.fate != notSent {
			return nil, outcomeUnknown(sp, in.tool, err)
		}
		return nil, doubted(sp, in.tool, notCalled(sp, err), refused)
	}
}

// runOn runs the call on one upstream. If it did not reach the server, or the server lost the session, it is sent once more on a new
// connection; refused records the latter, across upstreams too: a call is refused that way only once.
func (s *Service) runOn(ctx context.Context, u *upstream, sp *spec, in call, refused *error) (*answer, error) {
	if err := u.enter(ctx, s.cfg.QueueTimeout); err != nil {
		return nil, doubted(sp, in.tool, err, *refused)
	}
	defer u.leave()
	for attempt := 0; ; attempt++ {
		c, err := u.connection(ctx)
		if err == nil && !c.begin() {
			err = errRetired
		}
		if errors.Is(err, errRetired) {
			return nil, errRetired
		}
		if err != nil { // whatever happened to the connection, the call was not sent
			return nil, doubted(sp, in.tool, notCalled(sp, err), *refused)
		}
		c.spec.hidden.Add(sp.concealed)
		c.learnHeaders(ctx)
		a, err := c.callTool(ctx, in)
		settled, again := s.prepareRetry(ctx, u, c, a, err, refused)
		c.finished()
		switch {
		case again && attempt == 0:
			continue
		case settled != nil:
			return settled, nil
		}
		if err != nil && asSendError(err).fate == notSent {
			return nil, doubted(sp, in.tool, err, *refused)
		}
		return a, err
	}
}

// doubted returns the error of a call that was not sent: if a server has refused it before, that server may still have acted.
func doubted(sp *spec, tool string, err, refused error) error {
	if refused == nil {
		return err
	}
	return outcomeUnknown(sp, tool, refused)
}

// prepareRetry prepares a retry of the call, and reports whether it may be sent again. settled is the answer of a call that was refused as
// in a lost session by a server that still knows the session.
func (s *Service) prepareRetry(ctx context.Context, u *upstream, c *connection, a *answer, err error, refused *error,
) (settled *answer, again bool) {
	if err == nil {
		switch {
		case a.failure == nil:
		case a.failure.Code == mcp.HEADER_MISMATCH:
			c.headers.Forget() // the tool's arguments to repeat as headers have changed
		case a.failure.Code == mcp.UNSUPPORTED_PROTOCOL_VERSION:
			u.drop(c, staleness(facts{}, wrongRevision))
		}
		return nil, false
	}
	e := asSendError(err)
	switch {
	case e.stale:
		u.drop(c, e)
		return nil, e.fate == notSent
	case e.fate == sessionLost:
		lost := c.ping(ctx)
		if lost.gone() || lost != nil && lost.stale {
			u.drop(c, e)
		}
		switch {
		case lost == nil:
			return e.answer, false
		case !lost.gone() || *refused != nil:
			return nil, false
		}
		*refused = err
		return nil, true
	case e.fate == notSent && ctx.Err() == nil && notWritten(err):
		c.abort(err)
		return nil, true
	}
	return nil, false
}

// gone reports whether an answer to a ping says that the session is lost.
func (e *sendError) gone() bool { return e != nil && e.fate == sessionLost }

// ask sends a request that may be repeated, and settles its answer.
func (c *connection) ask(ctx context.Context, method mcp.MCPMethod, params map[string]any) (*answer, error) {
	a, err := c.request(ctx, c.nextID.Add(1), method, params)
	return c.settle(ctx, a, err)
}

// settle returns the answer of a request that may be repeated: an error with the status of a lost session is one if the server still knows
// the session.
func (c *connection) settle(ctx context.Context, a *answer, err error) (*answer, error) {
	if err == nil {
		return a, nil
	}
	if e := asSendError(err); e.answer != nil && c.ping(ctx) == nil {
		return e.answer, nil
	}
	return nil, err
}

// ping checks whether the server still knows the session after it refused a call with a status that suggests otherwise. Proxies and tools
// use these statuses too, even after they acted: only a server that also refuses a ping has lost the session, and so did not process the
// call.
func (c *connection) ping(ctx context.Context) *sendError {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	if _, err := c.request(ctx, c.nextID.Add(1), mcp.MethodPing, nil); err != nil {
		return asSendError(err)
	}
	return nil
}

// pingTimeout bounds the check for a lost session.
const pingTimeout = 5 * time.Second

// callTool sends the call and waits for its answer. Errors are *sendError.
func (c *connection) callTool(ctx context.Context, in call) (*answer, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	id := c.nextID.Add(1)
	token := fmt.Sprintf("%s%d", c.tokens, id)

	params := map[string]any{"name": in.tool, "arguments": in.arguments, "_meta": callMeta(ctx, in, token)}
	if len(in.given.headers) > 0 {
		ctx = context.WithValue(ctx, givenKey{}, in.given)
	}
	ask := newAsking(c.spec, in)
	if c.modern() {
		in.declare(c.spec, params)
	} else {
		c.setLogLevel(ctx, in.logLevel)
		if err := c.questions.begin(ctx, ask, c.spec.kind == overStdio); err != nil {
			return nil, err
		}
		defer c.questions.end(ask)
		ctx = context.WithValue(ctx, askingKey{}, ask)
	}

	coming := c.progress.add(token, in.tell, cancel)
	defer c.progress.remove(token, coming)
	a, err := c.request(ctx, id, mcp.MethodToolsCall, params)
	if err != nil && asSendError(err).fate == unknownFate {
		c.cancelRequest(id, "nobody waits for the answer any more")
	}
	if err == nil && !c.modern() {
		a.asked = c.questions.end(ask)
		a.given = ask.given
	}
	return a, err
}

// tell passes notices on, except log messages that the caller does not want.
func (in call) tell(notices []notice) error {
	for _, n := range notices {
		if n.log != nil && (in.logLevel == "" || levelRank(n.log.level) < levelRank(in.logLevel)) {
			continue
		}
		if err := in.notice(n); err != nil {
			return err
		}
	}
	return nil
}

// declare adds to the parameters whether the tool may ask, and the answer to its question.
func (in call) declare(s *spec, params map[string]any) {
	if meta, ok := params["_meta"].(map[string]any); ok {
		meta[mcp.MetaKeyClientCapabilities] = in.able(s)
		if in.logLevel != "" {
			meta[mcp.MetaKeyLogLevel] = in.logLevel
		}
	}
	in.state.again(params, in.answer, in.responses)
}

// callMeta returns a call's `_meta`: the request's provider data, the caller's entries, the trace, and our progress token.
func callMeta(ctx context.Context, in call, token string) map[string]any {
	trace := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, trace)
	meta := make(map[string]any, len(in.given.meta)+len(in.meta)+len(trace)+1)
	for key, value := range in.given.meta {
		meta[key] = value
	}
	for key, value := range in.meta {
		meta[key] = value
	}
	for key, value := range maps.All(trace) {
		meta[key] = value
	}
	meta["progressToken"] = token
	return meta
}

// enter waits for a call slot, at most limit.
func (u *upstream) enter(ctx context.Context, limit time.Duration) error {
	select {
	case u.slots <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case u.slots <- struct{}{}:
		return nil
	case <-timer.C:
		return fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE,
			"tool server %q is busy: %d calls are running and none ended within %s", u.spec.name, cap(u.slots), limit).
			Hint("Try again later, or raise mcpbridge.max_calls if the server can take more.").RetryAfter(limit)
	case <-ctx.Done():
		return notCalled(u.spec, &sendError{fate: notSent, cause: ctx.Err(), text: "the call ended while it waited for its place"})
	}
}

// leave releases the slot.
func (u *upstream) leave() { <-u.slots }
