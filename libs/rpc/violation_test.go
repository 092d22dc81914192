package rpc

import (
	"errors"
	"strings"
	"testing"

	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/proto"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

func TestViolationsAreSaidInWords(t *testing.T) {
	for want, req := range map[string]proto.Message{
		"agent.id: must begin with a lower-case letter": &sessionsv1.CreateAgentRequest{Agent: &sessionsv1.Agent{Id: "Bad Id"}},
		"id: must begin with a lower-case letter":       &sessionsv1.Schedule{Id: "Bad Id"},
		"name: must be letters, digits":                 &sessionsv1.ClientTool{Name: "a b"},
		"from_step: must name a model step":             &sessionsv1.RerunTurnRequest{TurnId: "trn_1", FromStep: "tool-1"},
		"mode: must be one of enqueue, reject":          &sessionsv1.CreateTurnRequest{SessionId: "ses_1", Mode: "later"},
		"turn_id: must be at least 1 characters":        &sessionsv1.RerunTurnRequest{},
		"1 to 64":                                       &inferencev1.ToolDefinition{Name: "a b"},
	} {
		var bad *protovalidate.ValidationError
		if err := protovalidate.Validate(req); !errors.As(err, &bad) {
			t.Errorf("%v passes", req)
			continue
		}
		v := bad.Violations[0]
		if got := protovalidate.FieldPathString(v.Proto.GetField()) + ": " + violationText(v); !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
