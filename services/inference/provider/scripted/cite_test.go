package scripted_test

import (
	"slices"
	"testing"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
	"github.com/windlass-dev/windlass/workflows/contract/passage"
)

func TestScriptedCites(t *testing.T) {
	client := inferencetest.Serve(t, inferencetest.Config(), nil)
	search := &inferencev1.ToolDefinition{
		Name: passage.SearchTool, Description: "Finds passages in the documents that the agent answers from.",
		InputSchemaJson: `{"type":"object","properties":{"query":{"type":"string","description":"what to find"}},"required":["query"]}`,
	}
	const found = "2 passages, the best first.\n\n[k3f9a2c.1] a.md (document doc_1) Leave\n> Thirty days\n> a year.\n\n[k3f9a2c.2] b.md\n> No."
	const quoted = "The documents say: \u201cThirty days a year.\u201d [k3f9a2c.1]"
	for _, row := range []struct{ name, message, result, call, text string }{
		{"a directive", "cite: days of leave", found, passage.SearchTool + ` {"query":"days of leave"}`, quoted},
		{"a directive without a space", "cite:leave say:Well.", found, passage.SearchTool + ` {"query":"leave"}`, "Well. " + quoted},
		{"a question", "How many days of leave are there?", found, passage.SearchTool + ` {"query":"How many days of leave are there?"}`, quoted},
		{"nothing found", "cite: x", "Nothing was found.", passage.SearchTool + ` {"query":"x"}`, "The documents do not say anything about it."},
		{"another tool fits", "List my notes", "n1", "notes__list {}", "notes__list answered: n1."},
	} {
		t.Run(row.name, func(t *testing.T) {
			req := &inferencev1.GenerateRequest{
				Messages: []*turnv1.Message{inferencetest.User(row.message)}, Tools: append(exampleTools(), search),
			}
			steps := converse(t, client, req, func(*turnv1.ToolCall) string { return row.result })
			if got := calls(steps[0]); !slices.Equal(got, []string{row.call}) {
				t.Errorf("calls %q", got)
			}
			if got := steps[len(steps)-1].Finished.GetText(); got != row.text {
				t.Errorf("said %q", got)
			}
		})
	}
}

// TestScriptedReadsPassages: passages that stand before the message are quoted unless the model can search by itself.
func TestScriptedReadsPassages(t *testing.T) {
	client := inferencetest.Serve(t, inferencetest.Config(), nil)
	found := passage.Prompt([]passage.Passage{{Mark: "k3f9a2c.1", Name: "a.md", Quote: "Thirty days\na year."}})
	req := &inferencev1.GenerateRequest{
		Messages: []*turnv1.Message{inferencetest.User(found), inferencetest.User("How many days of leave are there?")},
	}
	steps := converse(t, client, req, func(*turnv1.ToolCall) string { return "" })
	if got := steps[0].Finished.GetText(); got != "The documents say: \u201cThirty days a year.\u201d [k3f9a2c.1]" {
		t.Errorf("said %q", got)
	}
}
