package question

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/windlass-dev/windlass/services/mcpbridge/server"
	"github.com/windlass-dev/windlass/services/mcpbridge/wire"
)

// ambiguityTimeout bounds how long a question waits until its call is clear.
const ambiguityTimeout = 20 * time.Second

// Asking is one call with respect to questions in protocols before 2026-07-28. Those arrive as requests of the server during the call, and
// a connection cannot stay open for days. So a question is answered with "cancel", which ends the attempt; when the user has answered, the
// call is sent again and the server gets the answer at once when it asks the same question.
type Asking struct {
	accepts func(method string) bool
	said    []said // answers not used yet
	given   []said
	asked   *form // the question without an answer
}

// Asked is a question without an answer, which ended an attempt of a call.
type Asked struct {
	question form
	said     []said // the answers to earlier questions
}

// askingKey is the context key of a stream's call.
type askingKey struct{}

// WithAsking returns the context of a call's stream.
func WithAsking(ctx context.Context, a *Asking) context.Context {
	return context.WithValue(ctx, askingKey{}, a)
}

// Router assigns the questions of a server to calls.
type Router struct {
	mu      sync.Mutex
	open    map[*Asking]struct{}
	changed chan struct{} // closed and replaced when open changes
	met     bool          // the server has asked before
}

// NewRouter returns a router without calls.
func NewRouter() *Router { return &Router{open: map[*Asking]struct{}{}, changed: make(chan struct{})} }

// Begin registers a call. If the transport does not identify the asking call, calls to a server that is known to ask run one by one.
func (q *Router) Begin(ctx context.Context, a *Asking, oneByOne bool) error {
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
			return wire.NotSent(ctx.Err(), "the call ended while it waited for its turn: the server asks questions, so its calls run one by one")
		}
	}
}

// End ends what Begin began, and returns the question that was left without an answer; nil for none.
func (q *Router) End(a *Asking) *Asked {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.open, a)
	close(q.changed)
	q.changed = make(chan struct{})
	if a.asked == nil {
		return nil
	}
	return &Asked{question: *a.asked, said: a.given}
}

// owner returns the call that asks; nil if that stays unclear. The caller holds mu, which is released while waiting.
func (q *Router) owner(ctx context.Context) *Asking {
	if a, ok := ctx.Value(askingKey{}).(*Asking); ok {
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

// answer returns the answer for the server now.
func (q *Router) answer(ctx context.Context, f form) Answer {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.met = true
	a := q.owner(ctx)
	switch {
	case a == nil:
		return Answer{Action: "cancel"}
	case !a.accepts(f.method), f.wrong() != "":
		return Answer{Action: "decline"}
	case a.asked != nil: // the attempt is already over
		return Answer{Action: "cancel"}
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
	return Answer{Action: "cancel"}
}

// Asking returns the asking of a call, with the answers that the caller brings.
func (c Caller) Asking(s *server.Spec) *Asking {
	a := &Asking{said: c.State.Said, accepts: func(method string) bool {
		if method == "" {
			return c.CanAsk || c.accept(s, string(mcp.MethodElicitationCreate))
		}
		return c.accept(s, method)
	}}
	if c.State.Asked != "" {
		a.said = append(a.said[:len(a.said):len(a.said)], said{c.State.Asked, c.answered()})
	}
	return a
}

// Serve answers requests of the server: pings, elicitations and requests for completions. ctx is that of the call whose stream
// carried the request, if the transport has such streams.
func (q *Router) Serve(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	switch req.Method {
	case string(mcp.MethodPing):
		return transport.NewJSONRPCResultResponse(req.ID, json.RawMessage("{}")), nil
	case string(mcp.MethodElicitationCreate):
		var (
			f   form
			err error
		)
		if !remarshal(req.Params, &f) {
			return transport.NewJSONRPCErrorResponse(req.ID, mcp.INVALID_PARAMS, "the parameters are none of "+req.Method, nil), nil
		}
		if f.params, err = json.Marshal(req.Params); err != nil {
			return nil, err
		}
		text, err := json.Marshal(q.answer(ctx, f))
		if err != nil {
			return nil, err
		}
		return transport.NewJSONRPCResultResponse(req.ID, text), nil
	case string(mcp.MethodSamplingCreateMessage):
		params, err := json.Marshal(req.Params)
		if err != nil {
			return nil, err
		}
		a := q.answer(ctx, form{method: req.Method, params: params})
		if a.Action != "accept" {
			return transport.NewJSONRPCErrorResponse(req.ID, codeRejected, "the request for a completion was rejected", nil), nil
		}
		return transport.NewJSONRPCResultResponse(req.ID, a.Whole), nil
	}
	return transport.NewJSONRPCErrorResponse(req.ID, mcp.METHOD_NOT_FOUND, "this client did not declare "+req.Method, nil), nil
}

// codeRejected is the code with which the specification of sampling has clients reject a request.
const codeRejected = -1

// remarshal converts the parameters of a request, and reports whether they are valid.
func remarshal(params, into any) bool {
	raw, err := json.Marshal(params)
	return err == nil && json.Unmarshal(raw, into) == nil
}
