package mcpbridge

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// ambiguityTimeout bounds how long a question waits until it is clear which call asks it.
const ambiguityTimeout = 20 * time.Second

// asking is one call as far as questions of protocols before 2026-07-28 are concerned. Those come as requests of the server while the call
// runs, and an open connection is nothing to wait for days on. So a question is answered with "cancel", which ends the attempt; the call is
// made again when the user has answered, and then the server is given the answer at once when it asks the same again.
type asking struct {
	canAsk bool
	said   []said // answers not given yet
	given  []said
	asked  *formRequest // the question without an answer
}

// askingKey finds the call of a stream.
type askingKey struct{}

// questions brings a server's questions to the calls they belong to.
type questions struct {
	mu      sync.Mutex
	open    map[*asking]struct{}
	changed chan struct{} // closed and replaced when open changes
	met     bool          // the server has asked something
}

func (q *questions) init() { q.open, q.changed = map[*asking]struct{}{}, make(chan struct{}) }

// begin registers a call. Over a transport that does not tell which call asks, calls of a server that is known to ask run one by one.
func (q *questions) begin(ctx context.Context, a *asking, oneByOne bool) error {
	for {
		q.mu.Lock()
		if !oneByOne || !q.met || len(q.open) == 0 {
			q.open[a] = struct{}{}
			q.mu.Unlock()
			return nil
		}
		changed := q.changed
		q.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return &sendError{fate: notSent, cause: ctx.Err(), text: "the call ended while it waited for its turn: the server asks questions, so its calls run one by one"}
		}
	}
}

// end ends what begin began, and tells the question that was left without an answer.
func (q *questions) end(a *asking) *formRequest {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.open, a)
	close(q.changed)
	q.changed = make(chan struct{})
	return a.asked
}

// owner finds the call that asks; nil when that does not become clear in time. The caller holds mu, which is released while waiting.
func (q *questions) owner(ctx context.Context) *asking {
	if a, ok := ctx.Value(askingKey{}).(*asking); ok {
		if _, runs := q.open[a]; runs {
			return a
		}
	}
	timer := time.NewTimer(ambiguityTimeout)
	defer timer.Stop()
	for {
		for a := range q.open {
			if len(q.open) == 1 {
				return a
			}
		}
		if len(q.open) == 0 {
			return nil
		}
		changed := q.changed
		q.mu.Unlock()
		select {
		case <-changed:
			q.mu.Lock()
			continue
		case <-timer.C:
		case <-ctx.Done():
		}
		q.mu.Lock()
		return nil
	}
}

// answer returns what the server is told now.
func (q *questions) answer(ctx context.Context, f formRequest) userAnswer {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.met = true
	a := q.owner(ctx)
	switch {
	case a == nil:
		return userAnswer{Action: "cancel"}
	case !a.canAsk || f.wrong() != "":
		return userAnswer{Action: "decline"}
	case a.asked != nil: // the attempt is over already
		return userAnswer{Action: "cancel"}
	}
	hash := f.hash()
	for i, s := range a.said {
		if s.Question == hash {
			a.said = append(a.said[:i:i], a.said[i+1:]...)
			a.given = append(a.given, s)
			return s.Answer
		}
	}
	a.asked = &f
	return userAnswer{Action: "cancel"}
}

// newAsking makes the asking of a call, with the answers that it brings.
func newAsking(in call) *asking {
	a := &asking{canAsk: in.canAsk, said: in.state.Said}
	if in.state.Asked != "" {
		a.said = append(a.said[:len(a.said):len(a.said)], said{in.state.Asked, in.answer})
	}
	return a
}

// answerServer answers requests of the server: it may ask whether we are there, and have the user asked. ctx is that of the call whose
// stream the request came on, where the transport has such.
func (c *connection) answerServer(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	switch req.Method {
	case string(mcp.MethodPing):
		return transport.NewJSONRPCResultResponse(req.ID, json.RawMessage("{}")), nil
	case string(mcp.MethodElicitationCreate):
		var f formRequest
		if !remarshal(req.Params, &f) {
			return transport.NewJSONRPCErrorResponse(req.ID, mcp.INVALID_PARAMS, "the parameters are none of "+req.Method, nil), nil
		}
		text, err := json.Marshal(c.questions.answer(ctx, f))
		if err != nil {
			return nil, err
		}
		return transport.NewJSONRPCResultResponse(req.ID, text), nil
	}
	return transport.NewJSONRPCErrorResponse(req.ID, mcp.METHOD_NOT_FOUND, "this client did not declare "+req.Method, nil), nil
}

// remarshal reads parameters of a request into what they should be, and tells whether they are.
func remarshal(params, into any) bool {
	raw, err := json.Marshal(params)
	return err == nil && json.Unmarshal(raw, into) == nil
}
