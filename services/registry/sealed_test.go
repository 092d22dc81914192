package registry_test

import (
	"context"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/sealedresult"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/sqldb"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

func resultSealer(t testing.TB) *sealedresult.Sealer {
	t.Helper()
	s, err := sealedresult.New(secret.New(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAResultThatShieldsCheckIsNotReadable: neither in the database nor through the APIs, and the same call returns it all the same.
func TestAResultThatShieldsCheckIsNotReadable(t *testing.T) {
	w := newWorld(t)
	r := w.start(config())
	r.notes()
	const number = "4111 1111 1111 1111"
	w.bridge.set(func() {
		w.bridge.call = func(context.Context, *mcpbridgev1.CallToolRequest, func(float64, float64, string)) (*mcpbridgev1.CallToolResult, error) {
			return answer("the card is " + number), nil
		}
	})
	for _, tool := range []string{"notes__send", "notes__put", "notes__read"} {
		for range 2 { // the second one gets it from the ledger
			s := r.call(sealedresult.Ask(t.Context()), r.request(tool, "sealed "+tool))
			if s.text() != "the card is "+number || s.completed.GetCode() != "" {
				t.Errorf("%s: %+v", tool, s)
			}
		}
		row := r.row("sealed " + tool)
		got, err := r.analytics.GetExecution(t.Context(), &registryv1.GetExecutionRequest{ExecutionId: row.GetId()})
		if err != nil || got.GetOutput() != "" || got.GetInput() == "" {
			t.Errorf("%s: its execution: %v, %v", tool, got, err)
		}
	}
	recent, err := r.analytics.ListRecentExecutions(t.Context(), &registryv1.ListRecentExecutionsRequest{})
	if err != nil || len(recent.GetExecutions()) != 3 || strings.Contains(recent.String(), number) {
		t.Errorf("recent executions: %v, %v", recent, err)
	}
	results, err := sqldb.All(t.Context(), w.db.Reader(), sqldb.Column[[]byte], `SELECT result FROM executions`)
	if err != nil || len(results) != 3 || strings.Contains(string(results[0])+string(results[1])+string(results[2]), number) {
		t.Errorf("in the database: %q, %v", results, err)
	}
	if s := r.call(t.Context(), r.request("notes__send", "in clear")); s.text() != "the card is "+number {
		t.Errorf("one that no shield checks: %+v", s)
	}
	got, err := r.analytics.GetExecution(t.Context(), &registryv1.GetExecutionRequest{ExecutionId: r.row("in clear").GetId()})
	if err != nil || got.GetOutput() != "the card is "+number {
		t.Errorf("one that no shield checks: %v, %v", got, err)
	}
}
