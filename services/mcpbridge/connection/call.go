package connection

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/mark3labs/mcp-go/mcp"
	"go.opentelemetry.io/otel/propagation"

	"github.com/windlass-dev/windlass/services/mcpbridge/notice"
	"github.com/windlass-dev/windlass/services/mcpbridge/question"
	"github.com/windlass-dev/windlass/services/mcpbridge/server"
	"github.com/windlass-dev/windlass/services/mcpbridge/wire"
)

// Call is one call of a tool.
type Call struct {
	Tool      string
	Arguments json.RawMessage // a JSON object
	Meta      map[string]string
	Given     server.Given
	Notice    func(notice.Notice) error // an error ends the call
	LogLevel  string                    // lowest level of log messages that the caller wants; empty = none
	Caller    question.Caller
}

// Answer is how a call was answered: with a result, a JSON-RPC error, or a question.
type Answer struct {
	wire.Answer
	Asked *question.Asked // the call was aborted because of this question
}

// CallTool sends the call and waits for its answer. Errors are *wire.Error.
func (c *Connection) CallTool(ctx context.Context, in Call) (*Answer, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	id := c.wire.NextID()
	token := fmt.Sprintf("%s%d", c.tokens, id)

	params := map[string]any{"name": in.Tool, "arguments": in.Arguments, "_meta": callMeta(ctx, in, token)}
	ctx = wire.WithHeaders(ctx, in.Given.Headers)
	asking := in.Caller.Asking(c.spec)
	if c.wire.Modern() {
		in.declare(c.spec, params)
	} else {
		c.setLogLevel(ctx, in.LogLevel)
		if err := c.questions.Begin(ctx, asking, c.spec.Kind == server.Stdio); err != nil {
			return nil, err
		}
		defer c.questions.End(asking)
		ctx = question.WithAsking(ctx, asking)
	}

	remove := c.notices.Add(token, in.tell, cancel)
	defer remove()
	a, err := c.wire.Request(ctx, id, mcp.MethodToolsCall, params)
	if err != nil {
		if wire.AsError(err).Fate == wire.UnknownFate {
			c.cancelRequest(id, "no caller waits for the answer any more")
		}
		return nil, err
	}
	answer := &Answer{Answer: *a}
	if !c.wire.Modern() {
		answer.Asked = c.questions.End(asking)
	}
	return answer, nil
}

// tell passes notices on, except log messages that the caller does not want.
func (in Call) tell(notices []notice.Notice) error {
	for _, n := range notices {
		if n.Log != nil && (in.LogLevel == "" || notice.Rank(n.Log.Level) < notice.Rank(in.LogLevel)) {
			continue
		}
		if err := in.Notice(n); err != nil {
			return err
		}
	}
	return nil
}

// declare adds to the parameters whether the tool may ask, and the answer to its question.
func (in Call) declare(s *server.Spec, params map[string]any) {
	if meta, ok := params["_meta"].(map[string]any); ok {
		meta[mcp.MetaKeyClientCapabilities] = in.Caller.Able(s)
		if in.LogLevel != "" {
			meta[mcp.MetaKeyLogLevel] = in.LogLevel
		}
	}
	in.Caller.Repeat(params)
}

// callMeta returns a call's `_meta`: the request's provider data, the caller's entries, the trace, and our progress token.
func callMeta(ctx context.Context, in Call, token string) map[string]any {
	trace := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, trace)
	meta := make(map[string]any, len(in.Given.Meta)+len(in.Meta)+len(trace)+1)
	for key, value := range in.Given.Meta {
		meta[key] = value
	}
	for key, value := range in.Meta {
		meta[key] = value
	}
	for key, value := range maps.All(trace) {
		meta[key] = value
	}
	meta["progressToken"] = token
	return meta
}
