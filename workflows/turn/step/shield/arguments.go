package shield

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step"
)

// Call is a tool call as shields leave it.
type Call struct {
	// Call is what the tool may get: redacted.
	*turnv1.ToolCall
	// Refusal says, for the model, why the call is not made; "" if it is.
	Refusal string
	// Approvals are the rules of shields that ask before the call is made.
	Approvals []*policyv1.ApprovalRule
	// Events say which shields found something.
	Events []*turnv1.Event
}

// Arguments checks the arguments of a call before it is made. The message and tool_call.started keep what the model wrote.
func (c *Checker) Arguments(ctx context.Context, w *step.Work, call *turnv1.ToolCall) (Call, error) {
	out := Call{ToolCall: call}
	applies, err := c.AppliesTo(ctx, w.Loaded.GetAgent(), StageTool)
	if err != nil || !applies {
		return out, err
	}
	arguments, isJSON := parseArguments(call.GetArgumentsJson())
	if !isJSON {
		arguments = call.GetArgumentsJson() // one text
	}
	var texts []string
	each(arguments, func(text string) string { texts = append(texts, text); return text })
	checked, err := c.Check(ctx, w.Loaded, StageTool, texts...)
	if why := Failed(err); why != "" {
		out.Refusal = "The call was not run: " + why
		return out, nil
	}
	if err != nil || checked == nil {
		return out, err
	}
	if w.Ref.GetRound() == 0 { // later rounds of the same call find the same
		out.Events = Triggered(StageTool, call.GetCallId(), checked)
	}
	if who := Blocker(checked); who != "" {
		out.Refusal = "The call was not run: shield " + who + " blocks its arguments."
		return out, nil
	}
	out.Approvals = approvals(checked, call.GetTool())
	if !slices.ContainsFunc(checked, (*policyv1.CheckedText).GetRedacted) {
		return out, nil
	}
	redacted := each(arguments, inOrder(checked))
	out.ToolCall = proto.CloneOf(call)
	if !isJSON {
		out.ArgumentsJson, _ = redacted.(string)
		return out, nil
	}
	text, err := json.Marshal(redacted)
	if err != nil {
		return Call{}, err
	}
	out.ArgumentsJson = string(text)
	return out, nil
}

// approvals returns the rules of shields that ask about a call of the tool, each once.
func approvals(checked []*policyv1.CheckedText, tool string) []*policyv1.ApprovalRule {
	var out []*policyv1.ApprovalRule
	for _, found := range checked {
		for _, h := range found.GetHits() {
			rule := h.GetApproval()
			if rule == nil || slices.ContainsFunc(out, func(r *policyv1.ApprovalRule) bool { return r.GetName() == rule.GetName() }) {
				continue
			}
			rule = proto.CloneOf(rule)
			rule.Tools = []string{tool}
			out = append(out, rule)
		}
	}
	return out
}

// inOrder replaces each text by its answer, given the answers about all texts in the same order.
func inOrder(checked []*policyv1.CheckedText) func(string) string {
	n := 0
	return func(text string) string {
		found := checked[n]
		n++
		if found.GetRedacted() {
			return found.GetText()
		}
		return text
	}
}

func parseArguments(text string) (any, bool) {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, false
	}
	_, err := d.Token()
	return v, errors.Is(err, io.EOF)
}

// each returns a value with all its texts, names and numbers replaced by what change makes of them, always in the same order. A number
// stays one unless it is changed.
func each(value any, change func(string) string) any {
	switch v := value.(type) {
	case string:
		return change(v)
	case json.Number:
		if text := change(v.String()); text != v.String() {
			return text
		}
		return v
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = each(item, change)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			key := change(name)
			out[key] = each(v[name], change)
		}
		return out
	default:
		return value
	}
}
