package fault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/windlass-dev/windlass/examples/internal/toolserver"
)

const (
	maxBig          = 32 << 20
	maxProgress     = 10_000
	defaultExitCode = 3
)

type effectInput struct {
	CallID   string `json:"call_id,omitempty" jsonschema:"name of this call for the ledger; by default its idempotency key"`
	Argument string `json:"argument,omitempty" jsonschema:"any text, for the ledger and the result"`
}

type effectOutput struct {
	CallID   string `json:"call_id" jsonschema:"the call_id that was received"`
	Argument string `json:"argument" jsonschema:"the argument that was received"`
}

func (o effectOutput) String() string { return "done " + o.CallID + " " + o.Argument }

type failInput struct {
	Message string `json:"message,omitempty" jsonschema:"text of the error"`
}

type crashInput struct {
	effectInput
	ExitCode int `json:"exit_code,omitempty" jsonschema:"exit code of the process, 3 by default"`
}

type bigInput struct {
	Bytes int `json:"bytes" jsonschema:"length of the result's text, at most 33554432"`
}

type bigOutput struct {
	Bytes int `json:"bytes" jsonschema:"length of the text"`
}

func (o bigOutput) String() string { return strings.Repeat("x", o.Bytes) }

type progressInput struct {
	Count int `json:"count" jsonschema:"number of progress notifications, at most 10000"`
}

type progressOutput struct {
	Sent int `json:"sent" jsonschema:"number of notifications; 0 when the caller gave no progress token"`
}

func (o progressOutput) String() string { return fmt.Sprintf("sent %d progress notifications", o.Sent) }

// arguments is what echo takes and returns.
type arguments map[string]any

func (a arguments) String() string {
	text, err := json.Marshal(a)
	if err != nil { // what came from JSON can be JSON again
		return err.Error()
	}
	return string(text)
}

// NewServer returns the tool server. Calls with an effect are recorded in the ledger.
func NewServer(ledger *Ledger) *server.MCPServer {
	s := toolserver.New("faulty", "Misbehaves on request. For tests only.")
	addWaiting(s, ledger)
	addChanging(s)
	s.AddTools(echoTool("echo", "Return the arguments."))
	toolserver.Add(s, "idempotent", "Record the call in the ledger and return. May be repeated with the same idempotency key.",
		toolserver.Idempotent("Repeatable effect", false),
		func(_ context.Context, req mcp.CallToolRequest, in effectInput) (effectOutput, error) {
			return effectOutput(in), ledger.Record(req, in.CallID, in.Argument)
		})
	toolserver.Add(s, "fail", "Return a result that is an error.", toolserver.ReadOnly("Fail"),
		func(_ context.Context, _ mcp.CallToolRequest, in failInput) (effectOutput, error) {
			if in.Message == "" {
				in.Message = "failed as requested"
			}
			return effectOutput{}, errors.New(in.Message)
		})
	toolserver.Add(s, "crash", "Record the call in the ledger, then end the process without an answer.", toolserver.Once("Crash"),
		func(_ context.Context, req mcp.CallToolRequest, in crashInput) (effectOutput, error) {
			if err := ledger.Record(req, in.CallID, in.Argument); err != nil {
				return effectOutput{}, err
			}
			if in.ExitCode == 0 {
				in.ExitCode = defaultExitCode
			}
			os.Exit(in.ExitCode)
			return effectOutput{}, nil
		})
	toolserver.Add(s, "big", "Return a text of the wanted length.", toolserver.ReadOnly("Big result"),
		func(_ context.Context, _ mcp.CallToolRequest, in bigInput) (bigOutput, error) {
			if in.Bytes < 0 || in.Bytes > maxBig {
				return bigOutput{}, fmt.Errorf("bytes must be from 0 to %d", maxBig)
			}
			return bigOutput(in), nil
		})
	toolserver.Add(s, "progress", "Send progress notifications, then return.", toolserver.ReadOnly("Progress"), progress)
	toolserver.AddHealthCheck(s, "faulty", nil)
	return s
}

// echoTool returns a tool that takes anything.
func echoTool(name, description string) server.ServerTool {
	tool := toolserver.Tool(name, description, toolserver.ReadOnly("Echo"),
		func(_ context.Context, _ mcp.CallToolRequest, in arguments) (arguments, error) {
			return in, nil
		})
	tool.Tool.RawInputSchema = json.RawMessage(
		`{"type":"object","properties":{"message":{"type":"string","description":"text to return"}},"additionalProperties":true}`)
	return tool
}

func progress(ctx context.Context, req mcp.CallToolRequest, in progressInput) (progressOutput, error) {
	if in.Count < 0 || in.Count > maxProgress {
		return progressOutput{}, fmt.Errorf("count must be from 0 to %d", maxProgress)
	}
	if req.Params.Meta == nil || req.Params.Meta.ProgressToken == nil {
		return progressOutput{}, nil
	}
	for i := range in.Count {
		err := toolserver.Progress(ctx, map[string]any{
			"progressToken": req.Params.Meta.ProgressToken,
			"progress":      i + 1,
			"total":         in.Count,
			"message":       fmt.Sprintf("step %d", i+1),
		})
		if err != nil {
			return progressOutput{}, err
		}
	}
	return progressOutput{Sent: in.Count}, toolserver.Settle(ctx)
}
