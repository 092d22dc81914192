package turn

import (
	"strings"
	"testing"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

func TestATreeWritesStatusesAsRESTDoes(t *testing.T) {
	var out strings.Builder
	err := writeTree(&out, &sessionsv1.TurnTree{
		Turn: &sessionsv1.Turn{Id: "trn_1", AgentId: "support", Status: turnv1.TurnStatus_TURN_STATUS_WAITING},
		Children: []*sessionsv1.TurnTree{{
			Turn:       &sessionsv1.Turn{Id: "trn_2", AgentId: "clerk", Status: turnv1.TurnStatus_TURN_STATUS_COMPLETED},
			Background: true,
		}},
	}, 0)
	const want = "trn_1  support  waiting  0 model calls, 0 tool calls, 0 tokens\n" +
		"  trn_2  clerk  completed  0 model calls, 0 tool calls, 0 tokens, in the background\n"
	if err != nil || out.String() != want {
		t.Errorf("got %q, %v", out.String(), err)
	}
}
