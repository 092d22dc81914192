package scripted_test

import (
	"strings"
	"testing"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
	"github.com/windlass-dev/windlass/workflows/contract"
)

func spoken(role turnv1.Role, text string) *turnv1.Message {
	return &turnv1.Message{Role: role, Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: text}}}}
}

// TestScriptedReadsMarks: the scripted model answers the mesh's own requests.
func TestScriptedReadsMarks(t *testing.T) {
	client := inferencetest.Serve(t, inferencetest.Config(), nil)
	tools := contract.MarkReactText + "\nTools:\n" + contract.ToolPrefix + "calc__evaluate: Compute an expression.\n" + contract.SchemaPrefix +
		`{"properties":{"expression":{"type":"string"}},"required":["expression"]}` + "\n"
	user, model := turnv1.Role_ROLE_USER, turnv1.Role_ROLE_ASSISTANT
	for _, row := range []struct {
		name, instructions string
		messages           []*turnv1.Message
		want               string
	}{
		{"a choice of plan", contract.MarkSelect, []*turnv1.Message{spoken(user, "First a, then b.")}, `"strategy":"plan"`},
		{"a choice of react", contract.MarkSelect, []*turnv1.Message{spoken(user, "call:x")}, `"strategy":"react"`},
		{"free text with tools", contract.MarkSelect, []*turnv1.Message{spoken(user, "list notes")}, `"strategy":"react"`},
		{"free text without tools", contract.MarkSelect + contract.NoTools, []*turnv1.Message{spoken(user, "list notes")}, `"strategy":"direct"`},
		{
			"a plan", contract.MarkPlan,
			[]*turnv1.Message{spoken(user, "First a, then b.")},
			`{"steps":[{"title":"a","goal":"a"},{"title":"b.","goal":"b."}]}`,
		},
		{
			"a plan of a list", contract.MarkPlan,
			[]*turnv1.Message{spoken(user, "Do:\n1. a then b\n2) c")},
			`{"steps":[{"title":"a then b","goal":"a then b"},{"title":"c","goal":"c"}]}`,
		},
		{
			"the rest of a plan", contract.MarkPlan,
			[]*turnv1.Message{spoken(user, "a"), spoken(user, "The plan: …\n"+contract.PlanRest)},
			`{"steps":[]}`,
		},
		{"a step", contract.MarkPlanStep, []*turnv1.Message{spoken(user, "say:no"), spoken(user, "Plan\n"+contract.GoalPrefix+"say:yes")}, "yes"},
		{"the answer", contract.MarkPlanAnswer, []*turnv1.Message{
			spoken(user, "a then b"),
			spoken(user, "x\n"+contract.ResultsPrefix+"\n1. one"),
		}, "Results of the plan:\n1. one"},
		{
			"a summary", contract.MarkCompact,
			[]*turnv1.Message{spoken(user, contract.CompactPrefix+"3\n\n"+
				contract.EntryPrefix+"user\nslow:9 call:x hello\n\n"+contract.EntryPrefix+"assistant\nhi\n\n"+contract.EntryPrefix+"user\nbye")},
			`Summary of 3 messages. The user said: ["slow:9 call:x hello" "bye"].`,
		},
		{
			"a call in text", tools,
			[]*turnv1.Message{spoken(user, "What is 6 * 7?")},
			"Action: calc__evaluate\nAction Input: {\"expression\":\"6 * 7\"}",
		},
		{
			"an answer in text", tools, []*turnv1.Message{
				spoken(user, "What is 6 * 7?"), spoken(model, "Thought: t\nAction: calc__evaluate\nAction Input: {}"), spoken(user, "Observation: 42"),
			}, "Final Answer: calc__evaluate answered: 42.",
		},
		{
			"an error in text", tools, []*turnv1.Message{
				spoken(user, "call:evaluate"), spoken(model, "Action: calc__evaluate\nAction Input: {}"), spoken(user, "Observation: Error: no"),
			}, "Final Answer: calc__evaluate answered with an error: no.",
		},
		{
			"parallel calls one by one", tools, []*turnv1.Message{
				spoken(user, "call:a call:b"), spoken(model, "Action: a\nAction Input: {}"), spoken(user, "Observation: 1"),
			}, "Action: b\nAction Input: {}",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := inferencetest.Ask(t.Context(), t, client, &inferencev1.GenerateRequest{
				Instructions: row.instructions, Messages: row.messages,
			})
			if err != nil {
				t.Fatal(err)
			}
			if f := got.Finished; !strings.Contains(f.GetText(), row.want) || f.GetFinishReason() != "stop" || len(f.GetToolCalls()) > 0 {
				t.Errorf("said %v", f)
			}
		})
	}
}
