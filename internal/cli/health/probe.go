package health

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/ids"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// probeInput is what a probe asks of its agent.
const probeInput = "Answer with the single word ok."

// Probe runs a turn and reports each part of its way, up to the first that fails within the timeout. Without an agent it creates one that
// has the default model and no tools. What it created it deletes.
func Probe(ctx context.Context, c *client.Client, agent string, timeout time.Duration) []Finding {
	p := &probeTurn{client: c.Temporary(), agent: agent, timeout: timeout}
	findings := p.run(ctx)
	if err := p.clean(context.WithoutCancel(ctx)); err != nil {
		f := failed("probe: clean up", err)
		f.Outcome = Warning
		findings = append(findings, f)
	}
	return findings
}

// probeTurn is the turn of one probe.
type probeTurn struct {
	client  *client.Client
	agent   string
	timeout time.Duration
	made    []proto.Message // requests that delete what was created

	id    string
	begun time.Time
	// started, said and ended are when the turn did, zero = it has not; said is when its model first answered.
	started, said, ended time.Time
	model                string
	end                  *turnv1.TurnEnded
}

// errDone ends the watch of a turn.
var errDone = errors.New("done")

func (p *probeTurn) run(ctx context.Context) []Finding {
	if err := p.accept(ctx); err != nil {
		return []Finding{failed("probe: accept", err)}
	}
	accepted := Finding{Check: "probe: accept", Outcome: OK, Detail: fmt.Sprintf("turn %s accepted after %s", p.id, p.after(time.Now()))}
	watch, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	err := p.client.Watch(watch, client.Watch{Path: client.TurnEvents(p.id), Known: true}, p.event)
	if err != nil && !errors.Is(err, errDone) && watch.Err() == nil {
		return []Finding{accepted, failed("probe: events", err)}
	}
	return append([]Finding{accepted}, p.judge(ctx)...)
}

// accept creates what the turn needs, and the turn.
func (p *probeTurn) accept(ctx context.Context) error {
	p.begun = time.Now()
	if p.agent == "" {
		p.agent = "doctor-" + ids.New("x")[len("x_"):]
		agent := &sessionsv1.Agent{Id: p.agent, Instructions: "You are asked whether you work."}
		if _, err := p.client.Invoke(ctx, &sessionsv1.CreateAgentRequest{Agent: agent}, nil); err != nil {
			return err
		}
		p.made = append(p.made, &sessionsv1.DeleteAgentRequest{AgentId: p.agent})
	}
	var session sessionsv1.Session
	create := &sessionsv1.CreateSessionRequest{AgentId: p.agent, Title: "windlass doctor"}
	if _, err := p.client.Invoke(ctx, create, &session); err != nil {
		return err
	}
	p.made = append(p.made, &sessionsv1.DeleteSessionRequest{SessionId: session.GetId()})
	var turn sessionsv1.Turn
	if _, err := p.client.Invoke(ctx, &sessionsv1.CreateTurnRequest{SessionId: session.GetId(), Input: probeInput}, &turn); err != nil {
		return err
	}
	p.id = turn.GetId()
	return nil
}

func (p *probeTurn) event(ev client.Event) error {
	switch d := ev.GetData().(type) {
	case *turnv1.Event_TurnStarted:
		p.started, p.model = time.Now(), d.TurnStarted.GetModel()
	case *turnv1.Event_MessageDelta, *turnv1.Event_MessageCompleted:
		if p.said.IsZero() {
			p.said = time.Now()
		}
	case *turnv1.Event_TurnEnded:
		p.ended, p.end = time.Now(), d.TurnEnded
		return errDone
	}
	return nil
}

// judge reports what became of the turn.
func (p *probeTurn) judge(ctx context.Context) []Finding {
	if p.started.IsZero() && p.end == nil {
		return []Finding{p.stuck(ctx, "probe: begin", "no worker has begun the turn")}
	}
	out := []Finding{{Check: "probe: begin", Outcome: OK, Detail: "a worker began the turn after " + p.after(p.started)}}
	switch {
	case p.end == nil && p.said.IsZero():
		return append(out, p.stuck(ctx, "probe: model", p.model+" has not answered"))
	case p.end == nil:
		return append(out, p.stuck(ctx, "probe: end", "the model has answered, but the turn goes on"))
	case p.end.GetError() != nil:
		part := "probe: end"
		if p.said.IsZero() {
			part = "probe: model"
		}
		e := p.end.GetError()
		return append(out, Finding{part, Broken, fmt.Sprintf("%s: %s", e.GetCode(), e.GetMessage()), "Look at: windlass turn get " + p.id})
	case p.end.GetStatus() != turnv1.TurnStatus_TURN_STATUS_COMPLETED:
		detail := "the turn was " + enum.Name(p.end.GetStatus())
		return append(out, Finding{"probe: end", Broken, detail, "Somebody cancelled it: run the probe again."})
	}
	return append(out,
		Finding{Check: "probe: model", Outcome: OK, Detail: p.model + " answered after " + p.after(p.said)},
		Finding{Check: "probe: end", Outcome: OK, Detail: "the turn ended after " + p.after(p.ended)})
}

// stuck reports a turn that does not go on, with what the server says of it.
func (p *probeTurn) stuck(ctx context.Context, part, detail string) Finding {
	f := Finding{part, Broken, fmt.Sprintf("%s within %v", detail, p.timeout), "Look at the other checks, and: windlass turn get " + p.id}
	var turn sessionsv1.Turn
	if _, err := p.client.Invoke(ctx, &sessionsv1.GetTurnRequest{TurnId: p.id}, &turn); err != nil {
		return f
	}
	if why := turn.GetPending(); why.GetDetail() != "" {
		f.Detail += ": " + why.GetDetail()
		if why.GetAction() != "" {
			f.Todo = why.GetAction()
		}
	}
	return f
}

// after formats the time since the probe began.
func (p *probeTurn) after(t time.Time) string {
	return max(t.Sub(p.begun), 0).Round(time.Millisecond).String()
}

// clean deletes what was created, the last first. A turn that still runs is cancelled with its session.
func (p *probeTurn) clean(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var errs []error
	if p.id != "" && p.end == nil {
		_, err := p.client.Invoke(ctx, &sessionsv1.CancelTurnRequest{TurnId: p.id}, nil)
		errs = append(errs, err)
	}
	for _, req := range slices.Backward(p.made) {
		_, err := p.client.Invoke(ctx, req, nil)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
