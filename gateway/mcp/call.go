package mcp

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/windlass-dev/windlass/gateway/mcp/orchestrator"
	"github.com/windlass-dev/windlass/libs/fault"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// calls run tools.
type calls struct {
	tools         registryv1.ToolServiceClient
	names         *lru.Cache[originalName, string]
	levels        *lru.Cache[ownSession, string] // log levels
	pending       pending
	agents        *orchestrator.Orchestrator
	answerTimeout time.Duration
	log           *slog.Logger
}

// maxRounds limits the questions of one call.
const maxRounds = 32

// stopTimeout bounds the stop of a cancelled call.
const stopTimeout = 10 * time.Second

// callTool runs a tool. If it asks something, a client of the old era is asked on the response's stream, and one of the new era with the
// result, after which it makes the call again.
func (c *calls) callTool(q *request) (any, *failure) {
	var p struct {
		Arguments json.RawMessage            `json:"arguments"`
		Responses map[string]json.RawMessage `json:"inputResponses"`
		State     string                     `json:"requestState"`
	}
	if f := decode(q.params, &p); f != nil {
		return nil, f
	}
	if q.common.Name == "" {
		return nil, invalidParams("the parameters have no name of a tool")
	}
	if a := bytes.TrimSpace(p.Arguments); len(a) == 0 || string(a) == "null" {
		p.Arguments = json.RawMessage("{}")
	}
	if q.source == orchestrator.Name {
		return c.callAgentTool(q, p.Arguments)
	}
	name, f := c.toolName(q)
	if f != nil {
		return nil, f
	}
	if q.modern {
		if f := c.checkHeaders(q, name); f != nil {
			return nil, f
		}
	}
	run := c.request(q, name, p.Arguments)
	if p.State != "" {
		if f := resume(run, p.State, p.Responses); f != nil {
			return nil, f
		}
	}
	for range maxRounds {
		result, asked, err := c.run(q, run)
		switch {
		case err != nil && errors.Is(context.Cause(q.ctx), errCancelled):
			c.stopTool(q, run.GetIdempotencyKey())
			return nil, failureOf(err)
		case err != nil:
			return resultOfFailure(name, err)
		case asked == nil:
			return resultOf(result, q.modern, q.clientURIs(name)), nil
		case q.modern:
			return inputRequired(run.GetIdempotencyKey(), asked)
		}
		answer, f := c.ask(q, asked)
		if f != nil {
			return nil, f
		}
		run.Answer = answer
	}
	return nil, &failure{Code: mcp.INTERNAL_ERROR, Message: fmt.Sprintf("the tool asked more than %d questions", maxRounds)}
}

// request returns the request for a call.
func (c *calls) request(q *request, name string, arguments []byte) *registryv1.RunToolRequest {
	run := &registryv1.RunToolRequest{
		Name: name, ArgumentsJson: arguments, IdempotencyKey: q.common.Meta.Key, Accepts: q.accepts, LogLevel: c.logLevel(q),
		SessionId: q.header.Get(orchestrator.SessionHeader), RunnerId: q.header.Get(orchestrator.RunnerHeader),
		Fresh: true, // as from the server itself: a client that asks again wants to know whether something changed
	}
	if run.GetIdempotencyKey() == "" {
		run.IdempotencyKey, run.NewKey = "mcp/"+rand.Text(), true
	}
	return run
}

// resultOfFailure returns the outcome of a call without a result. What a model can mend is a result.
func resultOfFailure(name string, err error) (any, *failure) {
	f := fault.From(err)
	if badArguments(f) {
		return map[string]any{"content": []any{map[string]any{"type": "text", "text": f.Text()}}, "isError": true}, nil
	}
	out := failureOf(err)
	if strings.Contains(f.Message, "there is no tool") {
		out.Message = fmt.Sprintf("there is no tool %q", name)
	}
	return nil, out
}

// run runs the call once, and passes on what its server says meanwhile.
func (c *calls) run(q *request, run *registryv1.RunToolRequest) (*registryv1.InvokeToolResponse, *registryv1.InputRequired, error) {
	ctx, cancel := context.WithCancel(q.ctx)
	defer cancel()
	stream, err := c.tools.RunTool(ctx, run)
	if err != nil {
		return nil, nil, err
	}
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil, nil, errors.New("the registry ended the call without a result")
		}
		if err != nil {
			return nil, nil, err
		}
		switch event := m.GetEvent().(type) {
		case *registryv1.RunToolResponse_Progress:
			q.progress(event.Progress)
		case *registryv1.RunToolResponse_Log:
			q.logged(event.Log)
		case *registryv1.RunToolResponse_Result:
			return event.Result, nil, nil
		case *registryv1.RunToolResponse_InputRequired:
			return nil, event.InputRequired, nil
		}
	}
}

// stopTool has the server of a cancelled call know.
func (c *calls) stopTool(q *request, key string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(q.ctx), stopTimeout)
	defer cancel()
	if _, err := c.tools.StopTool(ctx, &registryv1.StopToolRequest{IdempotencyKey: key}); err != nil {
		c.log.DebugContext(ctx, "cancelled call could not be stopped", "error", err)
	}
}

func (q *request) progress(p *registryv1.Progress) {
	token := q.common.Meta.ProgressToken
	if len(token) == 0 || string(token) == "null" {
		return
	}
	fields := map[string]any{"progressToken": token, "progress": p.GetProgress()}
	if p.GetTotal() != 0 {
		fields["total"] = p.GetTotal()
	}
	if p.GetMessage() != "" {
		fields["message"] = p.GetMessage()
	}
	q.out.send(notification(string(mcp.MethodNotificationProgress), fields))
}

func (q *request) logged(m *registryv1.LogMessage) {
	fields := map[string]any{"level": m.GetLevel(), "data": json.RawMessage(m.GetDataJson())}
	if m.GetLogger() != "" {
		fields["logger"] = m.GetLogger()
	}
	q.out.send(notification(string(mcp.MethodNotificationMessage), fields))
}

func notification(method string, params map[string]any) any {
	return struct {
		Version string         `json:"jsonrpc"`
		Method  string         `json:"method"`
		Params  map[string]any `json:"params,omitempty"`
	}{mcp.JSONRPC_VERSION, method, params}
}

// setLogLevel sets the lowest level of a session's log messages.
func (c *calls) setLogLevel(q *request) (any, *failure) {
	var p struct {
		Level string `json:"level"`
	}
	if f := decode(q.params, &p); f != nil {
		return nil, f
	}
	if !slices.Contains(levels, p.Level) {
		return nil, invalidParams("use one of the levels " + strings.Join(levels, ", "))
	}
	if q.sessionID != "" {
		c.levels.Add(q.own(), p.Level)
	}
	return struct{}{}, nil
}

// logLevel returns the lowest level that the client wants; empty = it did not ask for messages.
func (c *calls) logLevel(q *request) string {
	level := q.common.Meta.LogLevel
	if !q.modern {
		level, _ = c.levels.Get(q.own())
	}
	if !slices.Contains(levels, level) {
		return ""
	}
	return level
}
