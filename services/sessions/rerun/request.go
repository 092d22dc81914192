package rerun

import (
	"math"
	"strconv"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/fault"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/blueprint"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// Request says how a turn is to be run again.
type Request struct {
	// TurnID is the turn to run again.
	TurnID string
	// AgentID and Params are those of the new session; empty means those of the other one.
	AgentID string
	Params  *structpb.Struct
	// FromStep is a model step ("infer-2", "2"), "failed" or "" for the first.
	FromStep string
	// Tools and Missing say where results of tool calls come from; see package contract. Model, if set, is used instead of the agent's.
	Tools, Missing, Model string
}

// event reads a request.
func (req Request) event() (*turnv1.TurnRerun, error) {
	e := &turnv1.TurnRerun{OfTurn: req.TurnID, FromStep: 1, Tools: req.Tools, Missing: req.Missing, Model: req.Model}
	if m := e.GetModel(); m != "" && !blueprint.Model(m) {
		return nil, fault.Invalid("model", "%s", blueprint.WantModel)
	}
	if e.GetTools() == "" && req.FromStep == failedStep {
		e.Tools = contract.ToolsLive // it goes on with what the other turn did not come to
	}
	if e.GetTools() == "" {
		e.Tools = contract.ToolsRecorded
	}
	if e.GetTools() == contract.ToolsLive && e.GetMissing() != "" {
		return nil, fault.Invalid("missing", "counts only for recorded tools: leave it out, or set tools to \"recorded\"")
	}
	if e.GetTools() == contract.ToolsRecorded && e.GetMissing() == "" {
		e.Missing = contract.MissingFail
	}
	if step := req.FromStep; step != "" && step != failedStep {
		n, ok := stepkey.ParseInfer(step)
		if !ok {
			n, _ = strconv.Atoi(step)
		}
		if n < 1 || n > math.MaxUint16 {
			return nil, fault.Invalid("from_step", "%q is no model step: write \"infer-2\", \"2\" or \"failed\"", req.FromStep)
		}
		e.FromStep = uint32(n)
	}
	return e, nil
}
