package contract_test

import (
	"testing"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

func TestCallHash(t *testing.T) {
	hash := func(tool, arguments string) string {
		return contract.CallHash(&turnv1.ToolCall{Tool: tool, ArgumentsJson: arguments})
	}
	if hash("t", `{"a":1,"b":[2.50]}`) != hash("t", ` {"b":[2.50], "a":1 }`) {
		t.Error("order and white space matter")
	}
	for _, other := range []string{`{"a":2}`, `{"a":1}x`, `{"a":1`} {
		if hash("t", `{"a":1}`) == hash("t", other) {
			t.Errorf("%s looks the same", other)
		}
	}
	if hash("t", `{}`) == hash("u", `{}`) {
		t.Error("tools look the same")
	}
}
