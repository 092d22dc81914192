package modelcall

import (
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/tokens"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

// maxAnswer is the maximum size of an answer's text, reasoning and arguments in bytes: the whole must fit in one message.
const maxAnswer = 8 << 20

// Answer is a complete answer. Its model has the name of the provider before it; its usage is not nil, and each count fits an int32.
type Answer struct {
	provider.Finished
	// Text and Reasoning are those of all pieces.
	Text, Reasoning string
	// Calls are the tool calls; their arguments are never empty.
	Calls []*turnv1.ToolCall
	// UsageEstimated means that the provider reported no usage.
	UsageEstimated bool
	// First is the time from the request to the first piece, 0 without one.
	First time.Duration
}

// collector collects the pieces of an answer, within limits and as clean text.
type collector struct {
	limit, size     int
	withheld        int // bytes that come with later pieces
	text, reasoning strings.Builder
	said, thought   provider.Halves
	calls           []*collectedCall
	ids             map[string]bool
}

type collectedCall struct {
	id, tool  string
	arguments strings.Builder
	halves    provider.Halves
}

func newCollector(limit int) *collector { return &collector{limit: limit, ids: map[string]bool{}} }

// add collects a piece and returns it as the caller should see it: valid UTF-8, no NUL, the call's id and tool in its first delta.
// Exceeding a limit is MODEL_STREAM_BROKEN.
func (a *collector) add(d provider.Delta) (provider.Delta, error) {
	d.Text, d.Reasoning = clean(a.said.Join(d.Text)), clean(a.thought.Join(d.Reasoning))
	if d.Call != nil {
		c, err := a.call(*d.Call)
		if err != nil {
			return provider.Delta{}, err
		}
		d.Call = &c
		a.size += len(c.Arguments)
	}
	a.withheld += d.Withheld
	if a.size += len(d.Text) + len(d.Reasoning); a.size > a.limit {
		return provider.Delta{}, provider.Excessive("the model's answer is larger than %d bytes", a.limit).
			Hint("Ask for less, or set a limit for output tokens.")
	}
	a.text.WriteString(d.Text)
	a.reasoning.WriteString(d.Reasoning)
	return d, nil
}

// call collects more of a tool call. Missing or duplicate ids are replaced.
func (a *collector) call(d provider.CallDelta) (provider.CallDelta, error) {
	if d.Index == len(a.calls) {
		if len(a.calls) == provider.MaxCalls {
			return d, provider.Excessive("the model asked for more than %d tool calls at once", provider.MaxCalls)
		}
		if d.Tool = clean(d.Tool); d.Tool == "" {
			return d, broken("the model asked for a tool without a name")
		}
		if d.ID = clean(d.ID); d.ID == "" || a.ids[d.ID] {
			d.ID = ids.New(ids.ToolCall)
		}
		a.ids[d.ID] = true
		a.calls = append(a.calls, &collectedCall{id: d.ID, tool: d.Tool})
	} else {
		d.ID, d.Tool = "", ""
	}
	if d.Index < 0 || d.Index >= len(a.calls) {
		return d, broken("the model's tool calls are out of order")
	}
	c := a.calls[d.Index]
	d.Arguments = clean(c.halves.Join(d.Arguments))
	c.arguments.WriteString(d.Arguments)
	return d, nil
}

// rest returns the pieces that waited for another half of a character.
func (a *collector) rest() (pieces []provider.Delta) {
	if end := a.thought.End(); end != "" {
		pieces = append(pieces, provider.Delta{Reasoning: end})
	}
	if end := a.said.End(); end != "" {
		pieces = append(pieces, provider.Delta{Text: end})
	}
	for i, c := range a.calls {
		if end := c.halves.End(); end != "" {
			pieces = append(pieces, provider.Delta{Call: &provider.CallDelta{Index: i, Arguments: end}})
		}
	}
	return pieces
}

// check returns an error for a complete answer without content: one that was filtered or cut off may be empty.
func (a *collector) check(end provider.Finished) error {
	complete := end.Reason == provider.Stop || end.Reason == provider.ToolCalls
	if !complete || len(a.calls) > 0 || strings.TrimSpace(a.text.String()) != "" {
		return nil
	}
	what := "neither text nor a tool call"
	if a.reasoning.Len() > 0 {
		what = "reasoning, but neither text nor a tool call"
	}
	return provider.Broken("the model's answer is empty: it has %s", what)
}

// finish returns the whole answer; usage is estimated if the provider reported none.
func (a *collector) finish(end provider.Finished, req provider.Request) *Answer {
	f := &Answer{Finished: end, Text: a.text.String(), Reasoning: a.reasoning.String()}
	for _, c := range a.calls {
		arguments := c.arguments.String()
		if strings.TrimSpace(arguments) == "" {
			arguments = "{}"
		}
		f.Calls = append(f.Calls, &turnv1.ToolCall{CallId: c.id, Tool: c.tool, ArgumentsJson: arguments})
	}
	switch {
	case f.Reason == provider.Stop && len(f.Calls) > 0:
		f.Reason = provider.ToolCalls
	case f.Reason == provider.ToolCalls && len(f.Calls) == 0:
		f.Reason = provider.Stop
	}
	if f.Usage == nil {
		f.Usage, f.UsageEstimated = estimate(req, a.tokens()), true
	}
	f.Usage = clamp(*f.Usage)
	return f
}

// tokens estimates the tokens written.
func (a *collector) tokens() int {
	sum := tokens.Text(a.text.String()) + tokens.Text(a.reasoning.String())
	for _, c := range a.calls {
		sum += tokens.Text(c.arguments.String())
	}
	return sum
}

// clean returns text that every store and client accepts.
func clean(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

func broken(format string, args ...any) *fault.Error {
	return fault.New(codes.DataLoss, faultv1.Reason_REASON_MODEL_STREAM_BROKEN, format, args...)
}
