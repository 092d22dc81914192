package scripted_test

import (
	"testing"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
	"github.com/windlass-dev/windlass/workflows/contract"
)

func TestAnswersInASchema(t *testing.T) {
	const schema = `{"type":"object","required":["city","year","kind"],"properties":{"city":{"type":"string"},` +
		`"year":{"type":"integer","minimum":2000},"kind":{"enum":["big","small"]}}}`
	client := inferencetest.Serve(t, inferencetest.Config(), nil)
	repair := []*turnv1.Message{
		{Role: turnv1.Role_ROLE_ASSISTANT, Content: []*turnv1.ContentPart{inferencetest.Text("x")}},
		inferencetest.User(contract.OutputRepairPrefix + ": /city is required"),
	}
	for _, row := range []struct {
		name, message, schema, want string
		repairs                     int
	}{
		{name: "no words for it", message: "hello", schema: schema, want: `{"city":"text","kind":"big","year":2000}`},
		{
			name: "named in the message", message: "city: Bonn, year: 2024, a small one", schema: schema,
			want: `{"city":"Bonn","kind":"small","year":2024}`,
		},
		{name: "a directive", message: `json:{"city": 1}`, schema: schema, want: `{"city": 1}`},
		{name: "a directive, repaired", message: `json:{"city": 1}`, schema: schema, repairs: 1, want: `{"city":"text","kind":"big","year":2000}`},
		{name: "two tries", message: `json:{"city":1} json:{"city":2}`, schema: schema, repairs: 1, want: `{"city":2}`},
		{name: "words", message: "say:hello", schema: schema, want: "hello"},
		{name: "without a schema", message: `json:[1,2]`, want: "[1,2]"},
	} {
		t.Run(row.name, func(t *testing.T) {
			req := &inferencev1.GenerateRequest{Messages: []*turnv1.Message{inferencetest.User(row.message)}}
			for range row.repairs {
				req.Messages = append(req.Messages, repair...)
			}
			if row.schema != "" {
				req.OutputFormat = &inferencev1.OutputFormat{SchemaJson: row.schema}
			}
			got, err := inferencetest.Ask(t.Context(), t, client, req)
			if err != nil {
				t.Fatal(err)
			}
			if got.Finished.GetText() != row.want {
				t.Errorf("said %s", got.Finished.GetText())
			}
			if native := got.Finished.GetOutputMode() == turnv1.OutputMode_OUTPUT_MODE_NATIVE; native != (row.schema != "") {
				t.Errorf("mode %v", got.Finished.GetOutputMode())
			}
		})
	}
}

func TestChoicesOfToolsAreObeyed(t *testing.T) {
	client := inferencetest.Serve(t, inferencetest.Config(), nil)
	for _, row := range []struct {
		name, message string
		generation    *turnv1.Generation
		calls         int
		first, text   string
	}{
		{name: "none", message: "call:list say:done", generation: &turnv1.Generation{ToolChoice: "none"}, text: "done"},
		{name: "any", message: "say:hello", generation: &turnv1.Generation{ToolChoice: "required"}, calls: 1, first: "calculator__convert"},
		{name: "one", message: "say:hello", generation: &turnv1.Generation{ToolChoice: "notes__list"}, calls: 1, first: "notes__list"},
		{
			name: "one at a time", message: "call:list call:health_check", generation: &turnv1.Generation{ParallelToolCalls: new(false)},
			calls: 1, first: "notes__list",
		},
		{name: "a stop", message: "say:one END two", generation: &turnv1.Generation{Stop: []string{" END"}}, text: "one"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := inferencetest.Ask(t.Context(), t, client, &inferencev1.GenerateRequest{
				Messages: []*turnv1.Message{inferencetest.User(row.message)}, Tools: exampleTools(), Generation: row.generation,
			})
			if err != nil {
				t.Fatal(err)
			}
			calls := got.Finished.GetToolCalls()
			if len(calls) != row.calls || len(calls) > 0 && calls[0].GetTool() != row.first || got.Finished.GetText() != row.text {
				t.Errorf("calls %v, text %q", calls, got.Finished.GetText())
			}
		})
	}
}
