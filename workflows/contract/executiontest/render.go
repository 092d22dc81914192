package executiontest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/windlass-dev/windlass/libs/fault"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// result renders an error by its code and fields, and a success as given.
func result(err error, success string) string {
	if err == nil {
		return success
	}
	out := []string{fault.CodeOf(err)}
	for _, f := range fault.From(err).Fields {
		out = append(out, f.Path)
	}
	return strings.Join(out, " ")
}

// enumName returns the last word of an enum value, in lower case.
func enumName(e protoreflect.Enum) string {
	v := e.Descriptor().Values().ByNumber(e.Number())
	if v == nil {
		return fmt.Sprint(e.Number())
	}
	name := string(v.Name())
	if prefix := string(e.Descriptor().Values().Get(0).Name()); strings.HasSuffix(prefix, "UNSPECIFIED") {
		name = strings.TrimPrefix(name, strings.TrimSuffix(prefix, "UNSPECIFIED"))
	}
	return strings.ToLower(name)
}

// message returns the ID of the message of a step.
func (r *run) message(step string) string {
	for id, name := range r.names {
		if name == step {
			return id
		}
	}
	return "msg_unknown"
}

// claimed renders the result of a claim: done, lease or busy. The seq of a lease counts from the turn's acceptance.
func (r *run) claimed(key string, resp *executionv1.ClaimStepResponse, err error) string {
	var out string
	if l := resp.GetLease(); l != nil {
		if id := l.GetMessageId(); id != "" {
			if old, ok := r.names[id]; ok && old != key {
				r.Errorf("the lease of %s reserves the message of %s", key, old)
			}
			r.names[id] = key
		}
		out = fmt.Sprintf("lease %d attempt %d at +%d", l.GetFence(), l.GetAttempt(), l.GetBaseSeq()-r.first)
	}
	if o := resp.GetDone(); o != nil {
		out = "done " + r.outcome(o)
	}
	if b := resp.GetBusy(); b != nil {
		out = busy(b)
	}
	return result(err, lines(out, when(resp.GetCancelRequested(), "cancelled")))
}

func busy(b *executionv1.Busy) string {
	return lines("busy", when(b.GetOwner() == "", "resting"), b.GetOwner(), when(b.GetExpiresIn().AsDuration() <= 0, "expired"))
}

// outcome renders an outcome: what it holds of the step, without times.
func (r *run) outcome(o *turnv1.StepOutcome) string {
	return lines(o.GetKey(), when(o.GetCommittedMicros() == 0, "without-time"), kind(o),
		when(o.GetSurface() != nil, "pinned"),
		when(o.GetMessageId() != "", "message=%s", r.name(o.GetMessageId())),
		when(o.GetUsage() != nil, "usage=%d/%d/%d", o.GetUsage().GetInputTokens(), o.GetUsage().GetOutputTokens(), o.GetUsage().GetToolCalls()),
		when(o.GetInputs() > 0, "inputs=%d", o.GetInputs()),
		when(o.GetWait() != nil, "wait=%s", enumName(o.GetWait().GetKind())),
		when(o.GetAnswer() != nil, "answer=%s", enumName(o.GetAnswer().GetVerdict())),
		when(o.GetDeadlineMicros() > 0, "deadline+%s", time.Duration(o.GetDeadlineMicros()-deadline)*time.Microsecond),
		when(o.GetExhausted() != nil, "exhausted"), when(o.GetCancelled(), "cancelled"))
}

// kind renders the kind of an outcome where the key does not say it.
func kind(o *turnv1.StepOutcome) string {
	word, _, _ := strings.Cut(o.GetKey(), "-")
	return when(enumName(o.GetKind()) != word, "kind=%s", enumName(o.GetKind()))
}

func (r *run) keys(all []*turnv1.StepOutcome) string {
	var out []string
	for _, o := range all {
		if o.GetKind() == turnv1.StepKind_STEP_KIND_STEER {
			r.names[o.GetMessageId()] = o.GetKey()
		}
		out = append(out, r.outcome(o))
	}
	return strings.Join(out, ", ")
}

// committed renders the result of a commit, and that of each claim and commit that follows it.
func (r *run) committed(req *executionv1.CommitStepRequest, resp *executionv1.CommitStepResponse, err error) string {
	inputs := r.keys(resp.GetInputs())
	o := resp.GetOutcome()
	if w := o.GetWait(); w != nil {
		r.waits[o.GetKey()] = w.GetId()
	}
	out := lines(when(resp.GetAdopted(), "adopted"), when(resp.GetStale(), "stale"), when(o != nil, "%s", r.outcome(o)),
		when(resp.GetNextTurnId() != "", "next-turn"))
	if b := resp.GetBusy(); b != nil {
		out = lines(out, busy(b))
	}
	if inputs != "" {
		out = lines(out, "["+inputs+"]")
	}
	for i, next := range resp.GetNext() {
		out += "; " + r.claimed(req.GetNext()[i].GetStep().GetKey(), next, nil)
	}
	if then := resp.GetThen(); then != nil {
		out += "; " + r.committed(req.GetThen(), then, nil)
	}
	return result(err, out)
}

// outcomes renders the outcomes of a turn, and who holds its other steps.
func (r *run) outcomes(resp *executionv1.GetOutcomesResponse, err error) string {
	var out []string
	if all := r.keys(resp.GetOutcomes()); all != "" {
		out = append(out, all)
	}
	if resp.GetEnded() {
		out = append(out, "ended")
	}
	for _, key := range slices.Sorted(maps.Keys(resp.GetHeld())) {
		out = append(out, key+" "+busy(resp.GetHeld()[key]))
	}
	return result(err, strings.Join(out, "; "))
}

// loaded renders what a turn starts from.
func (r *run) loaded(resp *executionv1.LoadTurnResponse, err error) string {
	var done []string
	for _, o := range resp.GetOutcomes() {
		done = append(done, o.GetKey())
	}
	out := lines(enumName(resp.GetTurn().GetStatus()), fmt.Sprintf("%q", resp.GetTurn().GetInput()),
		fmt.Sprintf("max_steps=%d", resp.GetAgent().GetLimits().GetMaxSteps()),
		when(resp.GetSurface() != nil, "model=%s tools=%d", resp.GetSurface().GetModel(), len(resp.GetTools())),
		when(resp.GetCancelRequested(), "cancelled"), when(len(done) > 0, "done: %s", strings.Join(done, " ")))
	if resp.GetContext() != nil {
		out += "; " + r.conversation(resp.GetContext(), nil)
	}
	return result(err, out)
}

// conversation renders the messages that a model reads.
func (r *run) conversation(resp *executionv1.GetContextResponse, err error) string {
	var out []string
	for _, m := range resp.GetMessages() {
		text := ""
		for _, p := range append(m.GetContent(), m.GetToolResult().GetContent()...) {
			text += p.GetText()
		}
		if summary, ok := strings.CutPrefix(text, contract.SummaryPrefix+"\n"); ok {
			text = "summary:" + summary
		}
		line := []string{enumName(m.GetRole()) + ":" + text}
		for _, c := range m.GetToolCalls() {
			line = append(line, c.GetCallId())
		}
		out = append(out, strings.Join(line, "+"))
	}
	counts := lines(when(resp.GetInputs() > 0, "inputs=%d", resp.GetInputs()),
		when(resp.GetCompacted() > 0, "compacted=%d", resp.GetCompacted()), when(resp.GetTruncated(), "truncated"))
	return result(err, lines(strings.Join(out, " | "), when(counts != "", "(%s)", counts)))
}

// events renders events by their payload, with step and attempt.
func (r *run) events(all []*turnv1.Event) string {
	var out []string
	for i, e := range all {
		if i > 0 && e.GetSeq() != all[i-1].GetSeq()+1 {
			r.Errorf("the event with seq %d follows that with seq %d", e.GetSeq(), all[i-1].GetSeq())
		}
		if e.GetTurnId() != r.turn || e.GetSessionId() == "" {
			r.Errorf("an event of turn %s has the turn %q and the session %q", r.turn, e.GetTurnId(), e.GetSessionId())
		}
		m := e.ProtoReflect()
		line := string(m.WhichOneof(m.Descriptor().Oneofs().ByName("data")).Name())
		if e.GetStep() != "" {
			line += fmt.Sprintf("(%s#%d)", e.GetStep(), e.GetAttempt())
		}
		out = append(out, line+r.payload(e))
	}
	return strings.Join(out, " ")
}

// payload renders of an event what a worker or a client relies on and the service adds.
func (r *run) payload(e *turnv1.Event) string {
	switch d := e.GetData().(type) {
	case *turnv1.Event_MessageStarted:
		return "=" + r.name(d.MessageStarted.GetMessageId())
	case *turnv1.Event_MessageReset:
		return "=" + r.name(d.MessageReset.GetMessageId())
	case *turnv1.Event_MessageCompleted:
		return "=" + r.name(d.MessageCompleted.GetMessage().GetId()) + when(d.MessageCompleted.GetMessage().GetTurnId() != r.turn, "!")
	case *turnv1.Event_TurnRecovered:
		return "=" + d.TurnRecovered.GetPreviousOwner() + ">" + d.TurnRecovered.GetOwner()
	case *turnv1.Event_UsageUpdated:
		u := d.UsageUpdated.GetUsage()
		return fmt.Sprintf("=%d/%d/%d/%d", u.GetInputTokens(), u.GetOutputTokens(), u.GetModelCalls(), u.GetToolCalls())
	case *turnv1.Event_TurnEnded:
		end := d.TurnEnded
		return fmt.Sprintf("=%s/%s %q %q", enumName(end.GetStatus()), end.GetStopReason(), end.GetOutput(), end.GetToolsUsed())
	}
	return ""
}
