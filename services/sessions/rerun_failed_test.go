package sessions_test

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
)

// models knows one model.
type models struct{}

func (models) ResolveModel(_ context.Context, req *inferencev1.ResolveModelRequest, _ ...grpc.CallOption) (*inferencev1.Model, error) {
	if req.GetModel() == "other/model" {
		return &inferencev1.Model{Name: req.GetModel()}, nil
	}
	return nil, fault.New(codes.NotFound, faultv1.Reason_REASON_MODEL_UNKNOWN, "no model %q",
		req.GetModel()).Hint("Write provider/model. Providers: other.")
}

// fails ends a step with an error, and the turn with it.
func (w *worker) fails(key string) {
	w.t.Helper()
	w.commit(key, w.lease(key), func(r *executionv1.CommitStepRequest) {
		r.Outcome.Error = &turnv1.TurnError{Code: "model_unavailable", Message: "the model is away"}
	})
	w.finish(turnv1.TurnStatus_TURN_STATUS_FAILED, "error")
}

// A failed turn is taken up where it failed, with another model: what it did before is taken over and not done again.
func TestAFailedTurnIsTakenUpAtItsFailedStep(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres})
		k.agent("assistant")
		asked := func(w *worker) {
			w.asked("infer-1", "c1", `{"n":"a"}`)
			w.result("tool-1.0", "c1", "a1")
		}
		for _, row := range []struct {
			name    string
			run     func(w *worker)
			from    uint32
			context string
		}{
			{"its model fails after a call", func(w *worker) { asked(w); w.fails("infer-2") }, 2, "hello|calls|a1|"},
			{"its first model step fails", func(w *worker) { w.fails("infer-1") }, 1, "hello|"},
			{"no model step was begun", func(w *worker) { w.finish(turnv1.TurnStatus_TURN_STATUS_FAILED, "error") }, 1, "hello|"},
			{"a model step did not come to its end", func(w *worker) {
				asked(w)
				w.lease("infer-2")
				w.finish(turnv1.TurnStatus_TURN_STATUS_FAILED, "error")
			}, 2, "hello|calls|a1|"},
			{"one of its calls did not come to its end", func(w *worker) {
				l := w.lease("infer-1")
				w.commit("infer-1", l, func(r *executionv1.CommitStepRequest) {
					m := calls("c1", "c2")
					m.Id, m.Role = l.GetMessageId(), turnv1.Role_ROLE_ASSISTANT
					r.Messages, r.Outcome.Calls = []*turnv1.Message{m}, []*turnv1.ToolCallRef{{CallId: "c1"}, {CallId: "c2"}}
				})
				w.result("tool-1.0", "c1", "a1")
				w.lease("tool-1.1")
				w.finish(turnv1.TurnStatus_TURN_STATUS_FAILED, "error")
			}, 2, "hello|calls|a1|not executed: the turn ended before this call|"},
			{"it fails with its answer at hand", func(w *worker) {
				asked(w)
				w.answer("infer-2", w.lease("infer-2"), &turnv1.Message{Content: executiontest.Text("refused")}, 0)
				w.finish(turnv1.TurnStatus_TURN_STATUS_FAILED, "error")
			}, 2, "hello|calls|a1|"},
		} {
			t.Run(row.name, func(t *testing.T) {
				w := k.worker(k.turn(k.session().GetId(), "hello"))
				w.begin()
				row.run(w)
				turn := k.rerun(&sessionsv1.RerunTurnRequest{TurnId: w.turn.GetId(), FromStep: "failed", Model: "other/model"})
				if s := k.contextOf(turn); s != row.context {
					t.Errorf("context %s, want %s", s, row.context)
				}
				loaded, err := k.exec.LoadTurn(t.Context(), &executionv1.LoadTurnRequest{TurnId: turn.GetId()})
				must(t, err)
				if r := loaded.GetRerun(); r.GetFromStep() != row.from || r.GetTools() != "live" || loaded.GetAgent().GetModel() != "other/model" {
					t.Errorf("re-run %v with model %q", r, loaded.GetAgent().GetModel())
				}
			})
		}
	})
}

func TestARerunWithAnUnknownModelIsRefused(t *testing.T) {
	k := newKit(t, options{models: models{}})
	k.agent("assistant")
	of := k.twoRounds(k.session().GetId(), "two")
	_, err := k.turns.RerunTurn(t.Context(), &sessionsv1.RerunTurnRequest{TurnId: of.GetId(), Model: "nobody/nothing"})
	wantFault(t, err, "invalid_argument", "model")
	k.rerun(&sessionsv1.RerunTurnRequest{TurnId: of.GetId(), Model: "other/model"})
}
