package rpc

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// TestMessagesOfManyValuesAreNotDecoded: messages from users with many values of any kind are rejected; roles of the mesh may send them.
func TestMessagesOfManyValuesAreNotDecoded(t *testing.T) {
	for _, row := range []struct {
		name    string
		agent   *sessionsv1.Agent
		role    bool
		refused bool
	}{
		{name: "empty texts", agent: &sessionsv1.Agent{Tools: slices.Repeat([]string{""}, 500_000)}, refused: true},
		{name: "empty messages", agent: &sessionsv1.Agent{Approvals: slices.Repeat([]*policyv1.ApprovalRule{{}}, 500_000)}, refused: true},
		{name: "lists of lists", agent: &sessionsv1.Agent{Approvals: slices.Repeat([]*policyv1.ApprovalRule{{Tools: slices.Repeat([]string{""},
			1000)}}, 200)}, refused: true},
		{name: "packed numbers", agent: &sessionsv1.Agent{Approvals: []*policyv1.ApprovalRule{{Effects: slices.Repeat([]turnv1.EffectClass{1},
			500_000)}}}, refused: true},
		{name: "a long text", agent: &sessionsv1.Agent{Instructions: strings.Repeat("x", 8<<20)}},
		{name: "some values", agent: &sessionsv1.Agent{Tools: slices.Repeat([]string{""}, 90_000)}},
		{name: "a role", agent: &sessionsv1.Agent{Tools: slices.Repeat([]string{""}, 500_000)}, role: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			raw, err := proto.Marshal(&sessionsv1.CreateAgentRequest{Agent: row.agent})
			if err != nil {
				t.Fatal(err)
			}
			in := &incoming{message: &sessionsv1.CreateAgentRequest{}, role: row.role}
			if err := newCodec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(raw)}, in); err != nil {
				t.Fatal(err)
			}
			if fault.Is(in.err, faultv1.Reason_REASON_TOO_LARGE) != row.refused || !row.refused && in.err != nil {
				t.Errorf("%v, want refused: %v", in.err, row.refused)
			}
		})
	}
}
