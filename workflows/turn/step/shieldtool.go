package step

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
)

// shieldCall checks a call's arguments before it is made. What is redacted does not reach the tool; a blocked call is not made, and the text says so
// to the model. The message and tool_call.started keep what the model wrote.
func (t tool) shieldCall(ctx context.Context, w *work) (refusal string, events []*turnv1.Event, _ error) {
	looks, err := t.looks(ctx, w.loaded.GetAgent(), stageTool)
	if err != nil || !looks {
		return "", nil, err
	}
	arguments, ok := parseArguments(w.call.GetArgumentsJson())
	if !ok {
		arguments = w.call.GetArgumentsJson() // no JSON: one text
	}
	var texts []string
	each(arguments, func(text string) string { texts = append(texts, text); return text })
	checked, err := t.checkTexts(ctx, w.loaded.GetAgent(), stageTool, texts...)
	if err != nil || checked == nil {
		return "", nil, err
	}
	if w.ref.GetRound() == 0 { // later rounds of the same call find the same
		events = triggered(stageTool, w.call.GetCallId(), checked)
	}
	if who := blocker(checked); who != "" {
		return "The call was not run: shield " + who + " blocks its arguments.", events, nil
	}
	if !slices.ContainsFunc(checked, (*policyv1.CheckedText).GetRedacted) {
		return "", events, nil
	}
	n := 0
	redacted := each(arguments, func(text string) string {
		c := checked[n]
		n++
		if c.GetRedacted() {
			return c.GetText()
		}
		return text
	})
	w.call = proto.CloneOf(w.call)
	if !ok {
		w.call.ArgumentsJson, _ = redacted.(string)
		return "", events, nil
	}
	out, err := json.Marshal(redacted)
	if err != nil {
		return "", nil, err
	}
	w.call.ArgumentsJson = string(out)
	return "", events, nil
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

// each gives a value with all its texts, names and numbers replaced by what change makes of them, always in the same order. A number stays one unless it is
// changed.
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
