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

// Arguments checks the arguments of a call before it is made, and returns the call as the tool may get it: redacted. A blocked call is
// not made, and the refusal says so to the model. The message and tool_call.started keep what the model wrote.
func (c *Checker) Arguments(
	ctx context.Context, w *step.Work, call *turnv1.ToolCall,
) (_ *turnv1.ToolCall, refusal string, events []*turnv1.Event, _ error) {
	looks, err := c.Looks(ctx, w.Loaded.GetAgent(), StageTool)
	if err != nil || !looks {
		return call, "", nil, err
	}
	arguments, isJSON := parseArguments(call.GetArgumentsJson())
	if !isJSON {
		arguments = call.GetArgumentsJson() // one text
	}
	var texts []string
	each(arguments, func(text string) string { texts = append(texts, text); return text })
	checked, err := c.Check(ctx, w.Loaded.GetAgent(), StageTool, texts...)
	if err != nil || checked == nil {
		return call, "", nil, err
	}
	if w.Ref.GetRound() == 0 { // later rounds of the same call find the same
		events = Triggered(StageTool, call.GetCallId(), checked)
	}
	if who := Blocker(checked); who != "" {
		return call, "The call was not run: shield " + who + " blocks its arguments.", events, nil
	}
	if !slices.ContainsFunc(checked, (*policyv1.CheckedText).GetRedacted) {
		return call, "", events, nil
	}
	redacted := each(arguments, inOrder(checked))
	call = proto.CloneOf(call)
	if !isJSON {
		call.ArgumentsJson, _ = redacted.(string)
		return call, "", events, nil
	}
	out, err := json.Marshal(redacted)
	if err != nil {
		return nil, "", nil, err
	}
	call.ArgumentsJson = string(out)
	return call, "", events, nil
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
