package mcp

import (
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// pending are questions to clients of the old era, which answer with a request of their own. The zero value is ready for use.
type pending struct {
	mu  sync.Mutex
	all map[string]waiting // by id
}

// waiting is a question. Only the caller who was asked may answer.
type waiting struct {
	caller string
	answer chan message // holds one
}

func (p *pending) add(id string, w waiting) (remove func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = map[string]waiting{}
	}
	p.all[id] = w
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.all, id)
	}
}

// answer delivers an answer. It reports whether somebody waited for it.
func (p *pending) answer(caller string, m message) bool {
	var id string
	if json.Unmarshal(m.ID, &id) != nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	w, ok := p.all[id]
	if !ok || w.caller != caller {
		return false
	}
	delete(p.all, id)
	w.answer <- m
	return true
}

// ask asks the client on the stream of its request, one thing after the other, and waits for the answers.
func (c *calls) ask(q *request, asked *registryv1.InputRequired) (*registryv1.InputAnswer, *failure) {
	requests, f := requestsOf(asked)
	if f != nil {
		return nil, f
	}
	responses := map[string]json.RawMessage{}
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		if responses[name], f = c.askOne(q, requests[name]); f != nil {
			return nil, f
		}
	}
	answer, f := answerOf(len(asked.GetRequestsJson()) == 0, responses)
	if f != nil {
		return nil, f
	}
	answer.State = asked.GetState()
	return answer, nil
}

// askOne returns the client's result; null if it answers with an error, which is a refusal.
func (c *calls) askOne(q *request, r clientRequest) (json.RawMessage, *failure) {
	w := waiting{subject(q.ctx), make(chan message, 1)}
	id := "windlass-" + rand.Text()
	remove := c.pending.add(id, w)
	defer remove()
	sent := q.out.send(struct {
		Version string `json:"jsonrpc"`
		ID      string `json:"id"`
		clientRequest
	}{mcp.JSONRPC_VERSION, id, r})
	if !sent {
		return nil, &failure{Code: mcp.INVALID_REQUEST, Message: "the tool asks something, and the client does not accept text/event-stream"}
	}
	timer := time.NewTimer(c.answerTimeout)
	defer timer.Stop()
	select {
	case m := <-w.answer:
		if m.Error != nil || m.Result == nil {
			return json.RawMessage("null"), nil
		}
		return m.Result, nil
	case <-timer.C:
		return nil, &failure{Code: mcp.REQUEST_INTERRUPTED, Message: "the client did not answer the tool's question in time"}
	case <-q.ctx.Done():
		return nil, &failure{Code: mcp.REQUEST_INTERRUPTED, Message: errCancelled.Error()}
	}
}

// answered serves a client's answer.
func (h *Handler) answered(w http.ResponseWriter, q *request, m message) {
	if !h.calls.pending.answer(subject(q.ctx), m) {
		refuse(w, nil, &failure{
			Code: mcp.INVALID_REQUEST, Message: "no request with this id waits for an answer here", status: http.StatusBadRequest,
		})
		return
	}
	w.WriteHeader(http.StatusAccepted)
}
