package decide_test

import (
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/services/policy/decide"
)

func BenchmarkApprovalCondition(b *testing.B) {
	engine, err := decide.NewEngine(decide.Config{Approvals: []decide.Approval{
		{Name: "a", Tools: []string{"bank__*"}, Condition: "arguments.amount > 100"},
	}})
	if err != nil {
		b.Fatal(err)
	}
	arguments, err := structpb.NewStruct(map[string]any{"amount": 7})
	if err != nil {
		b.Fatal(err)
	}
	call := decide.ToolCall{Principal: authn.Local(), Tool: "bank__pay", Effect: "once", Arguments: arguments}
	for b.Loop() {
		if rule, _ := engine.Approval(call, nil); rule != nil {
			b.Fatal("it asks")
		}
	}
}
