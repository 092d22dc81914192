package execute

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// encode returns the result of an execution as it is stored; one that is too large becomes an error for the model.
func (x *Executor) encode(r *request, execution string, result *turnv1.ToolResult, code string) (*turnv1.ToolResult, string, []byte) {
	raw, err := proto.Marshal(result)
	switch {
	case err == nil && len(raw) <= x.cfg.MaxResultBytes && r.SealResult:
		return result, code, x.deps.Results.Seal(raw, execution)
	case err == nil && len(raw) <= x.cfg.MaxResultBytes:
		return result, code, raw
	}
	result, code = tooLarge(r.Tool, x.cfg.MaxResultBytes), fault.CodeName(faultv1.Reason_REASON_TOO_LARGE)
	raw, err = proto.Marshal(result)
	if err != nil {
		raw = nil // a constant text always encodes
	}
	return result, code, raw
}

// stored returns the outcome of a finished row.
func (x *Executor) stored(row store.Execution) (Outcome, error) {
	result := &turnv1.ToolResult{}
	raw, lost := x.deps.Results.Open(row.Result, row.ID)
	if err := proto.Unmarshal(raw, result); err != nil {
		return Outcome{}, fault.Internal(err)
	}
	if lost != nil { // the key was changed: the call is over, and its result cannot be opened
		result = sealed(row.Tool)
	}
	return Outcome{Result: result, Code: row.Code, Cached: true, ExecutionID: row.ID, Latency: row.Latency, source: row.Source}, nil
}

// unresolved returns the outcome of a ONCE row in doubt.
func unresolved(row store.Execution) Outcome {
	out := failed(inDoubt(row.Tool, nil, row.Effect))
	out.Unresolved, out.Cached, out.ExecutionID, out.Latency, out.source = true, true, row.ID, row.Latency, row.Source
	return out
}

// sealed is the result of a call that was carried out, and whose own result cannot be opened any more.
func sealed(tool string) *turnv1.ToolResult {
	return source.Text(fmt.Sprintf("The tool %q was called, and its result cannot be read any more: it was sealed with another mesh.key. Do "+
		"not call it again with the same aim before its effect has been checked.", tool), true)
}

func tooLarge(tool string, limit int) *turnv1.ToolResult {
	return source.Text(fmt.Sprintf("The tool %q was called, but its result is too large: the limit is %d bytes. Ask for less, for example "+
		"a part of it.", tool, limit), true)
}
