package executiontest

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

const (
	// ttl is the length of a lease.
	ttl = 30 * time.Second
	// tool is what tool steps call.
	tool = "calc__add"
)

// claimOf returns a worker's claim of a step.
func claimOf(turn, key, owner string) *executionv1.ClaimStepRequest {
	req := &executionv1.ClaimStepRequest{
		TurnId: turn, Step: &turnv1.StepRef{Key: key, Title: key}, Owner: owner, Ttl: durationpb.New(ttl), Model: "test/model",
	}
	if k, ok := stepkey.Parse(key); ok {
		req.Step.Kind = k.Kind
		if k.Round > 1 {
			req.Step.Round = uint32(k.Round)
		}
		if k.Kind == turnv1.StepKind_STEP_KIND_TOOL {
			req.ToolCall = &turnv1.ToolCallStarted{CallId: callID(key), Tool: tool}
		}
	}
	return req
}

// callID returns the ID of the call that a tool step carries out.
func callID(key string) string { return "call-" + stepkey.FirstRound(key) }

func claim(key, owner string, change ...func(*executionv1.ClaimStepRequest)) call {
	return func(r *run) string {
		req := claimOf(r.turn, key, owner)
		for _, f := range change {
			f(req)
		}
		resp, err := r.client.ClaimStep(r.Context(), req)
		return r.claimed(key, resp, err)
	}
}

func renew(key string, fence uint32) call {
	return func(r *run) string {
		resp, err := r.client.RenewStep(r.Context(), &executionv1.RenewStepRequest{
			TurnId: r.turn, Step: key, Fence: fence, Ttl: durationpb.New(ttl),
		})
		return result(err, lines("renewed", when(resp.GetCancelRequested(), "cancelled")))
	}
}

func release(key string, fence uint32, rest time.Duration) call {
	return func(r *run) string {
		_, err := r.client.ReleaseStep(r.Context(), &executionv1.ReleaseStepRequest{
			TurnId: r.turn, Step: key, Fence: fence, Backoff: durationpb.New(rest),
		})
		return result(err, "released")
	}
}

func write(key string, fence uint32, events ...*turnv1.Event) call {
	return func(r *run) string {
		resp, err := r.client.AppendEvents(r.Context(), &executionv1.AppendEventsRequest{
			TurnId: r.turn, Step: key, Fence: fence, Events: events,
		})
		return result(err, fmt.Sprintf("written up to +%d", resp.GetLastSeq()-r.first))
	}
}

// fill completes a commit of a run's turn.
type fill func(r *run, req *executionv1.CommitStepRequest)

func commitOf(r *run, key string, fence uint32, fills []fill) *executionv1.CommitStepRequest {
	req := &executionv1.CommitStepRequest{
		TurnId: r.turn, Fence: fence, Outcome: &turnv1.StepOutcome{Key: key},
		Duration: durationpb.New(time.Millisecond),
	}
	for _, f := range fills {
		f(r, req)
	}
	return req
}

func commit(key string, fence uint32, fills ...fill) call {
	return func(r *run) string {
		req := commitOf(r, key, fence, fills)
		resp, err := r.client.CommitStep(r.Context(), req)
		return r.committed(req, resp, err)
	}
}

// do claims a step and commits it, which must both succeed; the result is that of the commit.
func do(key string, fills ...fill) call {
	return func(r *run) string {
		resp, err := r.client.ClaimStep(r.Context(), claimOf(r.turn, key, "w1"))
		if err != nil || resp.GetLease() == nil {
			r.Fatalf("the claim of %s got %s", key, r.claimed(key, resp, err))
		}
		r.claimed(key, resp, nil)
		return commit(key, resp.GetLease().GetFence(), fills...)(r)
	}
}

func outcomes() call {
	return func(r *run) string {
		resp, err := r.client.GetOutcomes(r.Context(), &executionv1.GetOutcomesRequest{TurnId: r.turn})
		return r.outcomes(resp, err)
	}
}

func load(withContext bool) call {
	return func(r *run) string {
		resp, err := r.client.LoadTurn(r.Context(), &executionv1.LoadTurnRequest{TurnId: r.turn, WithContext: withContext})
		return r.loaded(resp, err)
	}
}

func conversation() call {
	return func(r *run) string {
		resp, err := r.client.GetContext(r.Context(), &executionv1.GetContextRequest{TurnId: r.turn})
		return r.conversation(resp, err)
	}
}

// toolCall reads a call of the message that a step wrote.
func toolCall(step, call string) call {
	return func(r *run) string {
		resp, err := r.client.GetToolCall(r.Context(), &executionv1.GetToolCallRequest{
			TurnId: r.turn, MessageId: r.message(step), CallId: call,
		})
		return result(err, resp.GetCallId()+" "+resp.GetTool()+" "+resp.GetArgumentsJson())
	}
}

func recording(step, call string) call {
	return func(r *run) string {
		resp, err := r.client.GetRecording(r.Context(), &executionv1.GetRecordingRequest{
			TurnId: r.turn, MessageId: r.message(step), CallId: call,
		})
		return result(err, when(resp.GetResult() == nil, "no recording"))
	}
}

func requestCancel() call {
	return func(r *run) string {
		_, err := r.client.RequestCancel(r.Context(), &executionv1.RequestCancelRequest{TurnId: r.turn, Reason: "enough"})
		return result(err, "requested")
	}
}

// waitOf reads the wait that a step ended with.
func waitOf(step string) call {
	return func(r *run) string {
		id, ok := r.waits[step]
		if !ok {
			id = "apr_none"
		}
		w, err := r.client.GetWait(r.Context(), &executionv1.GetWaitRequest{TurnId: r.turn, WaitId: id})
		return result(err, lines(enumName(w.GetRequest().GetKind()), w.GetRequest().GetCallId(), when(w.GetVerdict() == 0, "open"),
			when(w.GetVerdict() != 0, "%s", enumName(w.GetVerdict()))))
	}
}

func expireWaits() call {
	return func(r *run) string {
		_, err := r.client.ExpireWaits(r.Context(), &executionv1.ExpireWaitsRequest{TurnId: r.turn})
		return result(err, "expired")
	}
}

func steer(text string) call {
	return func(r *run) string {
		r.Steer(r.turn, text)
		return ""
	}
}

func approve(step string) call {
	return func(r *run) string {
		r.Approve(r.turn, step)
		return ""
	}
}

func pass(d time.Duration) call {
	return func(r *run) string {
		r.Advance(d)
		return ""
	}
}

// inUnknownTurn makes a call in a turn that does not exist.
func inUnknownTurn(c call) call {
	return func(r *run) string {
		own := r.turn
		r.turn = "trn_unknown"
		defer func() { r.turn = own }()
		return c(r)
	}
}

// events renders the events since it was called last.
func events() call {
	return func(r *run) string {
		all := r.Events(r.turn)
		news := all[r.seen:]
		r.seen = len(all)
		return r.events(news)
	}
}
