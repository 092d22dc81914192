package executor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/truncate"
	executorv1 "github.com/windlass-dev/windlass/proto/gen/windlass/executor/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// errUnknownSession means that the executor does not know the session it is asked to resume.
var errUnknownSession = errors.New("the executor does not know the session")

var (
	usableID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	ourID    = regexp.MustCompile(`^call_\d+_\d+$`)
)

// reading is one round as far as it has been read.
type reading struct {
	round           Round
	sink            Sink
	text, reasoning strings.Builder
	answer          *string
	calls           []*turnv1.ToolCall
	usage           *turnv1.Usage
	size            int
	session         string
}

// read reads a round to its end, and reports whether the executor stays. One that reports to have used more than is left has the grace
// time to end.
func read(ctx context.Context, l link, r Round, sink Sink, grace time.Duration) (*Answer, bool, error) {
	r.Used = maps.Clone(r.Used) // what a broken attempt asked for does not count
	in := &reading{round: r, sink: sink, usage: &turnv1.Usage{}, session: r.Invocation.GetExecutorSessionId()}
	var ending *time.Timer
	defer func() {
		if ending != nil {
			ending.Stop()
		}
	}()
	for {
		e, err := l.recv()
		if err != nil && ending != nil {
			return in.stopped(), false, nil
		}
		switch {
		case errors.Is(err, io.EOF):
			if in.text.Len() == 0 && in.answer == nil && len(in.calls) == 0 {
				return nil, false, failed("the executor ended without an answer, a tool call or an error")
			}
			answer, err := in.end(&executorv1.End{})
			return answer, false, err
		case err != nil:
			return nil, false, err
		case e.GetEnd() != nil:
			answer, err := in.end(e.GetEnd())
			return answer, e.GetEnd().GetStay(), err
		}
		if ending != nil && e.GetError() != nil { // a further try would use as much again
			return in.stopped(), false, nil
		}
		if err := in.take(ctx, e); err != nil {
			return nil, false, err
		}
		if ending == nil && r.Left.passed(in.usage) {
			ending = time.AfterFunc(grace, l.cut)
		}
	}
}

// take takes one event before the end.
func (in *reading) take(ctx context.Context, e *executorv1.RunResponse) error {
	if schema := e.GetSchema(); schema != "" && schema != Schema {
		return failed("the executor speaks %q, this worker %q", truncate.Chars(schema, 80), Schema)
	}
	if in.size += max(proto.Size(e), minEvent); in.size > maxRound {
		return failed("the executor said more than %d bytes in one round, each event counted as %d at least", maxRound, minEvent)
	}
	switch e := e.GetEvent().(type) {
	case *executorv1.RunResponse_Session:
		return in.attach(ctx, e.Session.GetExecutorSessionId())
	case *executorv1.RunResponse_TextDelta:
		in.say(e.TextDelta)
	case *executorv1.RunResponse_ReasoningDelta:
		in.reasoning.WriteString(e.ReasoningDelta)
		in.sink.Reasoning(e.ReasoningDelta)
	case *executorv1.RunResponse_ToolCall:
		return in.call(e.ToolCall)
	case *executorv1.RunResponse_Usage:
		in.use(e.Usage)
	case *executorv1.RunResponse_Answer:
		in.answer = &e.Answer
		if rest, ok := strings.CutPrefix(e.Answer, in.text.String()); ok && rest != "" { // watchers see all of it come
			in.say(rest)
		}
	case *executorv1.RunResponse_Error:
		return in.failed(e.Error)
	}
	return nil
}

func (in *reading) say(piece string) {
	in.text.WriteString(piece)
	in.sink.Text(piece)
}

// attach has the executor's id of the session kept before the round continues.
func (in *reading) attach(ctx context.Context, id string) error {
	switch {
	case id == in.session:
		return nil
	case id == "" || len(id) > 512 || strings.ContainsRune(id, 0):
		return failed("executor_session_id must have 1 to 512 bytes, and no NUL")
	}
	in.session = id
	return in.sink.Attached(ctx, id)
}

// call takes a tool call.
func (in *reading) call(c *turnv1.ToolCall) error {
	id := c.GetCallId()
	if id == "" {
		id = fmt.Sprintf("call_%d_%d", stepNumber(in.round.Invocation.GetInvocationId()), len(in.calls))
	} else if !usableID.MatchString(id) || ourID.MatchString(id) {
		return failed("the executor's call id %q is not usable", truncate.Chars(id, 80)).
			Hint("Ids are letters, digits, _ and -, at most 64, and not of the form call_N_N; or leave it out.")
	}
	switch {
	case in.round.Used[id]:
		return failed("the executor gave the call id %q twice in a turn", id).Hint("Make ids unique, or leave them out.")
	case c.GetTool() == "":
		return failed("the executor's tool call %q has no name", id)
	case len(in.calls) == maxCalls:
		return failed("the executor asked for more than %d tool calls in one round", maxCalls)
	}
	if in.round.Used == nil {
		in.round.Used = map[string]bool{}
	}
	in.round.Used[id] = true
	call := &turnv1.ToolCall{CallId: id, Tool: c.GetTool(), ArgumentsJson: c.GetArgumentsJson()}
	if call.GetArgumentsJson() == "" {
		call.ArgumentsJson = "{}"
	}
	in.calls = append(in.calls, call)
	in.sink.Call(len(in.calls)-1, call)
	return nil
}

// stepNumber is that of the model step in an invocation's id, "TURN/infer-N".
func stepNumber(invocation string) int {
	n, _ := stepkey.ParseInfer(invocation[strings.LastIndexByte(invocation, '/')+1:]) // a worker makes no other
	return n
}

func (in *reading) use(u *turnv1.Usage) {
	sum := in.usage
	sum.InputTokens = plus(sum.GetInputTokens(), u.GetInputTokens())
	sum.OutputTokens = plus(sum.GetOutputTokens(), u.GetOutputTokens())
	sum.CachedInputTokens = plus(sum.GetCachedInputTokens(), u.GetCachedInputTokens())
	sum.ReasoningTokens = plus(sum.GetReasoningTokens(), u.GetReasoningTokens())
	sum.ModelCalls = plus(sum.GetModelCalls(), u.GetModelCalls())
	sum.CostMicros = min(maxCost, sum.CostMicros+min(maxCost, max(0, u.GetCostMicros())))
	in.sink.Used(proto.CloneOf(sum))
}

// plus adds usage that an executor reports, which may be any number, to a count.
func plus(sum, more int32) int32 {
	return int32(min(int64(sum)+max(0, int64(more)), math.MaxInt32))
}

// failed converts an error that the executor reports.
func (in *reading) failed(e *executorv1.Error) error {
	text := strings.TrimSpace(truncate.Chars(e.GetMessage(), 2000))
	if code := truncate.Chars(e.GetCode(), 80); code != "" {
		text = strings.TrimSuffix(code+": "+text, ": ")
	}
	switch {
	case e.GetCode() == "session_not_found" && in.round.Invocation.GetMode() == executorv1.Mode_MODE_RESUME:
		return errUnknownSession
	case e.GetRetryable():
		return away("the executor says %s", text).RetryAfter(min(time.Duration(e.GetRetryAfterMs())*time.Millisecond, time.Hour))
	}
	return failed("the executor says %s", text)
}

// end puts the answer together.
func (in *reading) end(e *executorv1.End) (*Answer, error) {
	out := &Answer{
		Text: in.text.String(), Reasoning: in.reasoning.String(), Calls: in.calls, Usage: in.usage, Model: truncate.Chars(e.GetModel(), 200),
		FinishReason: e.GetFinishReason(),
	}
	if in.answer != nil {
		out.Text = *in.answer
	}
	kept := len(out.Text) + len(out.Reasoning)
	for _, call := range out.Calls {
		kept += len(call.GetArgumentsJson())
	}
	if kept > maxAnswer {
		return nil, failed("the executor's answer has %d bytes, more than %d", kept, maxAnswer).
			Hint("Answer with less, or store large content as an artifact.")
	}
	switch {
	case len(out.Calls) > 0:
		out.FinishReason = "tool_calls"
	case out.FinishReason == "":
		out.FinishReason = "stop"
	case out.FinishReason != "stop" && out.FinishReason != "length" && out.FinishReason != "content_filter":
		return nil, failed("the executor's finish_reason is %q", truncate.Chars(out.FinishReason, 40)).Hint("Use stop, length or content_filter.")
	}
	return out, nil
}
