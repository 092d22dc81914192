package cli

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/windlass-dev/windlass/internal/cli/app"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// prompts asks the person at the terminal for what the running turn waits for, one thing at a time.
type prompts struct {
	ch    *chat
	queue chan *turnv1.Event
	done  sync.WaitGroup
	stop  context.CancelFunc

	mu   sync.Mutex
	over map[string]chan struct{} // by approval, closed when anyone resolves it
}

// maxPrompts limits the queued prompts; a turn asks for no more at once.
const maxPrompts = 256

func (ch *chat) newPrompts() *prompts {
	ctx, stop := context.WithCancel(ch.ctx)
	p := &prompts{ch: ch, queue: make(chan *turnv1.Event, maxPrompts), stop: stop, over: map[string]chan struct{}{}}
	p.done.Go(func() {
		for {
			select {
			case ev := <-p.queue:
				p.ask(ctx, ev)
			case <-ctx.Done():
				return
			}
		}
	})
	return p
}

// close stops asking.
func (p *prompts) close() {
	p.stop()
	p.done.Wait()
}

// event queues what the turn asks for, and drops what was resolved.
func (p *prompts) event(ev *turnv1.Event) {
	switch d := ev.GetData().(type) {
	case *turnv1.Event_ApprovalRequested:
		p.add(d.ApprovalRequested.GetApprovalId(), ev)
	case *turnv1.Event_InputRequested:
		if d.InputRequested.GetKind() == turnv1.WaitKind_WAIT_KIND_INPUT {
			p.add(d.InputRequested.GetApprovalId(), ev)
		}
	case *turnv1.Event_ApprovalResolved:
		p.resolve(d.ApprovalResolved.GetApprovalId())
	case *turnv1.Event_InputProvided:
		p.resolve(d.InputProvided.GetApprovalId())
	}
}

func (p *prompts) add(id string, ev *turnv1.Event) {
	p.mu.Lock()
	p.over[id] = make(chan struct{})
	p.mu.Unlock()
	select {
	case p.queue <- ev:
	default: // the printed remark names the command
	}
}

func (p *prompts) resolve(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if over, ok := p.over[id]; ok {
		close(over)
		delete(p.over, id)
	}
}

// ask asks until the server accepts an answer or somebody else has answered.
func (p *prompts) ask(ctx context.Context, ev *turnv1.Event) {
	id := ev.GetApprovalRequested().GetApprovalId() + ev.GetInputRequested().GetApprovalId()
	p.mu.Lock()
	over := p.over[id]
	p.mu.Unlock()
	for over != nil {
		if ev.GetApprovalRequested() != nil {
			p.ch.note("approve? y or n, and why")
		} else {
			p.ch.note("your answer (text, or a JSON object; empty = decline)")
		}
		select {
		case line, ok := <-p.ch.lines:
			if !ok {
				return
			}
			verb, body := reply(ev, line)
			if verb == "" {
				continue
			}
			c := *p.ch.call
			c.ctx = ctx
			_, err := postApproval(&c, id, verb, body)
			if err == nil {
				return
			}
			if ctx.Err() == nil {
				p.ch.note("%s", app.Explain(err))
			}
		case <-over:
			return
		case <-ctx.Done():
			return
		}
	}
}

// reply converts a line to a request; an empty verb means none.
func reply(ev *turnv1.Event, line string) (verb string, body map[string]any) {
	line = strings.TrimSpace(line)
	if ev.GetApprovalRequested() == nil {
		return "answer", answerOf(ev.GetInputRequested(), line)
	}
	word, comment, _ := strings.Cut(line, " ")
	body = map[string]any{"arguments_hash": ev.GetApprovalRequested().GetArgumentsHash()}
	switch strings.ToLower(word) {
	case "y", "yes":
		body["decision"] = "approve"
	case "n", "no":
		body["decision"] = "deny"
	default:
		return "", nil
	}
	if comment = strings.TrimSpace(comment); comment != "" {
		body["comment"] = comment
	}
	return "decide", body
}

// answerOf converts a line to an answer: a JSON object as it is; other text as the question's only field, or "answer".
func answerOf(r *turnv1.InputRequested, line string) map[string]any {
	if line == "" {
		return map[string]any{"action": "decline"}
	}
	var object map[string]any
	if json.Unmarshal([]byte(line), &object) == nil && object != nil {
		return map[string]any{"content": object}
	}
	field := "answer"
	fields := r.GetSchema().GetFields()["properties"].GetStructValue().GetFields()
	if len(fields) == 1 {
		for name := range fields {
			field = name
		}
	}
	var value any = line
	switch fields[field].GetStructValue().GetFields()["type"].GetStringValue() {
	case "boolean", "number", "integer":
		if parsed := any(nil); json.Unmarshal([]byte(line), &parsed) == nil {
			value = parsed
		}
	}
	return map[string]any{"content": map[string]any{field: value}}
}
