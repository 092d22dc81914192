package infer

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/schema"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/model"
)

// generation returns how the model writes its answer. A choice of tools holds in steps that offer tools; one that forces a call holds until
// the turn has made one, else no turn would end.
func (i *infer) generation(req *inferencev1.GenerateRequest) *turnv1.Generation {
	g := i.Loaded.GetAgent().GetGeneration()
	if c := g.GetToolChoice(); c == "" || c == "none" && len(req.GetTools()) > 0 || len(req.GetTools()) > 0 && !i.called(req) {
		return g
	}
	g = proto.CloneOf(g)
	g.ToolChoice = ""
	return g
}

// called reports whether the turn has called a tool.
func (i *infer) called(req *inferencev1.GenerateRequest) bool {
	for _, m := range req.GetMessages() {
		if m.GetTurnId() == i.Turn.TurnID && len(m.GetToolCalls()) > 0 {
			return true
		}
	}
	return false
}

// answersInSchema reports whether the answer of the step has to fit the agent's schema: not at the steps of a plan, nor in an executor.
func (i *infer) answersInSchema() bool {
	return i.Loaded.GetAgent().GetOutputSchema() != nil && i.Ref.GetPlan().GetCurrent() == 0 && !contract.Hosted(i.Loaded.GetAgent())
}

// inSchema asks for an answer that fits the agent's schema, again if it does not. Only the first answer is streamed: the message that is
// committed replaces it. The usage is that of all calls.
func (i *infer) inSchema(
	ctx context.Context, w *step.Work, req *inferencev1.GenerateRequest, add func(*inferencev1.GenerateResponse),
) (*inferencev1.Finished, error) {
	used := &turnv1.Usage{}
	for attempt := 0; ; attempt++ {
		finished, err := i.Ask(ctx, w, req, add)
		if err != nil {
			return nil, err
		}
		model.Add(used, finished)
		finished.Usage = used
		text, wrong, err := i.fit(ctx, finished)
		if err != nil {
			return nil, err
		}
		if wrong == "" || attempt == contract.OutputRepairs {
			finished.Text = text
			return finished, nil
		}
		req.Messages = model.Corrected(req.GetMessages(), finished.GetText(), contract.OutputRepairPrefix+": "+wrong+
			". Answer with the corrected JSON object alone.")
		add = func(*inferencev1.GenerateResponse) {}
	}
}

// unfit returns the error of an answer that does not fit its schema, nil if it fits, or need not.
func (i *infer) unfit(ctx context.Context, finished *inferencev1.Finished) (*turnv1.TurnError, error) {
	if finished == nil || !i.answersInSchema() {
		return nil, nil
	}
	_, wrong, err := i.fit(ctx, finished)
	if wrong == "" || err != nil {
		return nil, err
	}
	return step.TurnError(fault.New(codes.FailedPrecondition, faultv1.Reason_REASON_OUTPUT_INVALID,
		"the answer of %s does not fit the output_schema: %s", finished.GetModel(), wrong).
		Hint("Correct the schema or the instructions, or use a model that can be constrained to a schema.")), nil
}

// maxFaults bounds the mistakes that a model reads.
const maxFaults = 5

// fit returns the JSON of an answer, without a fence around it, and what of it does not fit the agent's schema; "" if it fits, or if it is
// not an answer that was meant to be whole.
func (i *infer) fit(ctx context.Context, finished *inferencev1.Finished) (text, wrong string, _ error) {
	text = finished.GetText()
	if len(finished.GetToolCalls()) > 0 || finished.GetFinishReason() != model.FinishStop {
		return text, "", nil
	}
	bare := unfenced(text)
	object, wrong := readObject(bare)
	if wrong != "" {
		return text, wrong, nil
	}
	check, err := schema.Compile(canon.StructJSON(i.Loaded.GetAgent().GetOutputSchema()))
	if err != nil {
		return text, "", step.Final(errors.New("output_schema: " + err.Error()))
	}
	faults, err := check.Validate(ctx, object)
	if err != nil {
		return text, "", err
	}
	var said []string
	for _, f := range faults[:min(len(faults), maxFaults)] {
		at := f.Pointer
		if at == "" {
			at = "/"
		}
		said = append(said, at+" "+f.Message)
	}
	return bare, strings.Join(said, "; "), nil
}

// readObject reads a JSON object, or returns why a text is none.
func readObject(text string) (object canon.Object, wrong string) {
	object, err := canon.Parse([]byte(text))
	if err != nil {
		return nil, "it is " + err.Error()
	}
	return object, ""
}

// unfenced returns a text without a code fence around it.
func unfenced(text string) string {
	text = strings.TrimSpace(text)
	inner, ok := strings.CutPrefix(text, "```")
	if !ok {
		return text
	}
	_, rest, ok := strings.Cut(inner, "\n")
	body, closed := strings.CutSuffix(strings.TrimSpace(rest), "```")
	if !ok || !closed {
		return text
	}
	return strings.TrimSpace(body)
}
