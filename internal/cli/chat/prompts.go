package chat

import (
	"context"
	"sync"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/hint"
	"github.com/windlass-dev/windlass/internal/cli/question"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// prompts asks the person at the terminal for what the running turn waits for, one thing at a time.
type prompts struct {
	ch    *chat
	queue chan question.Question
	done  sync.WaitGroup
	stop  context.CancelFunc

	// unread is called when nothing more can be read.
	unread func()

	mu   sync.Mutex
	over map[string]chan struct{} // by approval, closed when anyone resolves it
}

// maxPrompts limits the queued prompts; a turn asks for no more at once.
const maxPrompts = 256

func (ch *chat) newPrompts(unread func()) *prompts {
	ctx, stop := context.WithCancel(ch.Ctx)
	p := &prompts{ch: ch, queue: make(chan question.Question, maxPrompts), stop: stop, unread: unread, over: map[string]chan struct{}{}}
	p.done.Go(func() {
		for {
			select {
			case q := <-p.queue:
				p.ask(ctx, q)
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
	if q, ok := question.By(ev); ok {
		p.add(q)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if over, ok := p.over[question.Ended(ev)]; ok {
		close(over)
		delete(p.over, question.Ended(ev))
	}
}

func (p *prompts) add(q question.Question) {
	p.mu.Lock()
	p.over[q.ID] = make(chan struct{})
	p.mu.Unlock()
	select {
	case p.queue <- q:
	default: // the printed remark names the command
	}
}

// ask asks until the server accepts an answer or somebody else has answered.
func (p *prompts) ask(ctx context.Context, q question.Question) {
	p.mu.Lock()
	over := p.over[q.ID]
	p.mu.Unlock()
	for over != nil {
		p.ch.Note("%s", q.Prompt())
		p.ch.request("? ")
		select {
		case line, ok := <-p.ch.lines:
			if !ok {
				p.unread()
				return
			}
			req, ok := q.Answer(line)
			if !ok {
				continue
			}
			_, err := p.ch.Client.Invoke(ctx, req, nil)
			if err == nil {
				return
			}
			if ctx.Err() == nil {
				p.ch.Note("%s", app.Explain(hint.Commands(err)))
			}
		case <-over:
			return
		case <-ctx.Done():
			return
		}
	}
}
