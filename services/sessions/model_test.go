package sessions_test

import (
	"context"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/testwant"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/executiontest"
)

// chains knows the model a/good, denies a/denied, and does not answer about a/slow; a/plain takes no seed.
type chains struct{}

func (chains) ResolveChain(_ context.Context, req *inferencev1.ResolveChainRequest, _ ...grpc.CallOption) (*inferencev1.Chain, error) {
	m := &inferencev1.Model{Name: req.GetModel()}
	switch {
	case !req.GetChosen() || !slices.Equal(req.GetModalities(), []string{"image", "text"}):
		return nil, fault.Invalid("chosen", "is not set, or not for an input with an image: %v", req)
	case m.GetName() == "a/good":
	case m.GetName() == "a/plain":
		m.Unsupported = []string{"generation.seed"}
	case m.GetName() == "a/denied":
		return nil, fault.New(codes.PermissionDenied, faultv1.Reason_REASON_PERMISSION_DENIED, "no model may be used")
	case m.GetName() == "a/slow":
		return nil, fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "not now")
	default:
		return nil, fault.New(codes.NotFound, faultv1.Reason_REASON_MODEL_UNKNOWN, "no provider has it")
	}
	return &inferencev1.Chain{Targets: []*inferencev1.ChainTarget{{Model: m}}}, nil
}

func TestATurnMayNameItsModel(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres, chains: chains{}})
		_, err := k.agents.CreateAgent(t.Context(), &sessionsv1.CreateAgentRequest{Agent: &sessionsv1.Agent{
			Id: "a", Model: "a/own", Generation: &turnv1.Generation{Seed: new(int32(1))},
		}})
		must(t, err)
		_, err = k.agents.CreateAgent(t.Context(), &sessionsv1.CreateAgentRequest{Agent: &sessionsv1.Agent{
			Id: "hosted", Executor: &sessionsv1.Executor{Kind: "process", Command: []string{"true"}},
		}})
		must(t, err)
		content := executiontest.Text("hello")
		content = append(content, &turnv1.ContentPart{
			Part: &turnv1.ContentPart_Blob{Blob: &turnv1.Blob{MediaType: "image/png", Data: picture(t)}},
		})
		create := func(agent, model string) (*sessionsv1.Turn, error) {
			t.Helper()
			ses, err := k.sessions.CreateSession(t.Context(), &sessionsv1.CreateSessionRequest{AgentId: agent})
			must(t, err)
			return k.turns.CreateTurn(t.Context(), &sessionsv1.CreateTurnRequest{SessionId: ses.GetId(), Model: model, Content: content})
		}
		for _, row := range []struct{ agent, model, code string }{
			{"a", "good", "invalid_argument"},
			{"a", "a/none", "invalid_argument"},
			{"a", "a/plain", "invalid_argument"},
			{"a", "a/denied", "permission_denied"},
			{"hosted", "a/good", "failed_precondition"},
		} {
			_, err := create(row.agent, row.model)
			testwant.Equal(t, row.agent+", "+row.model, fault.CodeOf(err), row.code)
		}
		for given, want := range map[string]string{"": "a/own", "a/good": "a/good", "a/slow": "a/slow"} {
			made, err := create("a", given)
			must(t, err)
			got, err := k.turns.GetTurn(t.Context(), &sessionsv1.GetTurnRequest{TurnId: made.GetId()})
			must(t, err)
			testwant.Equal(t, "requested model", got.GetRequestedModel(), given)
			loaded, err := k.exec.LoadTurn(t.Context(), &executionv1.LoadTurnRequest{TurnId: made.GetId()})
			must(t, err)
			testwant.Equal(t, "model", loaded.GetAgent().GetModel(), want)
			testwant.Equal(t, "chosen", loaded.GetModelChosen(), given != "")
			x, err := k.sessions.ExportSession(t.Context(), &sessionsv1.ExportSessionRequest{SessionId: made.GetSessionId(), IncludeEvents: true})
			must(t, err)
			testwant.Equal(t, "journal", x.GetEvents()[0].GetTurnQueued().GetModel(), given)
		}
	})
}
