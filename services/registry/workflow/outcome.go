package workflow

import (
	"encoding/json"
	"fmt"
	"strings"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/failure/v1"
	"go.temporal.io/api/history/v1"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/truncate"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry/source"
)

// Limits of what is passed on.
const (
	// maxText is the longest message of a failure, in bytes, maxCauses how many causes of it are passed on.
	maxText   = 4 << 10
	maxCauses = 8
	// maxValues and maxDepth limit structured content: what readers of the mesh's messages take. A result beyond them is text only.
	maxValues = 200_000
	maxDepth  = 500
)

// end is how a workflow ended.
type end struct {
	// status is "completed", "failed", "cancelled", "terminated" or "timed_out"; empty if it cannot be told.
	status string
	// result is JSON text, of a completed workflow; why says what became of any other.
	result, why string
}

// endOf reads the last event of a workflow.
func endOf(e *history.HistoryEvent) end {
	switch e.GetEventType() {
	case enums.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
		result, err := resultText(e.GetWorkflowExecutionCompletedEventAttributes().GetResult())
		if err != nil {
			return end{status: "completed", why: "completed, and its result cannot be read: " + err.Error() +
				"; do not start it again for that"}
		}
		return end{status: "completed", result: result}
	case enums.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
		return end{status: "failed", why: "failed: " + failureText(e.GetWorkflowExecutionFailedEventAttributes().GetFailure())}
	case enums.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:
		return end{status: "cancelled", why: "was cancelled"}
	case enums.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED:
		why := "was terminated"
		if reason := e.GetWorkflowExecutionTerminatedEventAttributes().GetReason(); reason != "" {
			why += ": " + cut(reason)
		}
		return end{status: "terminated", why: why}
	case enums.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT:
		return end{status: "timed_out", why: "timed out"}
	default: // of a later version of Temporal: what became of the workflow is not known
		return end{}
	}
}

// failureText joins the messages of a failure and its causes, and names the type of the innermost one.
func failureText(f *failure.Failure) string {
	var parts []string
	kind := ""
	for i := 0; f != nil && i < maxCauses; i++ {
		if m := strings.TrimSpace(f.GetMessage()); m != "" {
			parts = append(parts, m)
		}
		if t := f.GetApplicationFailureInfo().GetType(); t != "" {
			kind = " (" + truncate.Bytes(t, 200) + ")"
		}
		f = f.GetCause()
	}
	if len(parts) == 0 {
		return "no reason was given" + kind
	}
	return cut(strings.Join(parts, ": ")) + kind
}

func cut(text string) string { return truncate.Bytes(strings.ToValidUTF8(text, "\uFFFD"), maxText) }

// outcome is the result of a call that has waited. A result that cannot be read is an error, though the workflow completed.
func (a *attempt) outcome(id string, last *history.HistoryEvent) (*turnv1.ToolResult, error) {
	e := endOf(last)
	switch {
	case e.status == "":
		return nil, source.Doubtful(fault.New(codes.Aborted, faultv1.Reason_REASON_OUTCOME_UNKNOWN,
			"source %q: the workflow %q ended with %s, which this version does not know", a.Source.Name, id, last.GetEventType()))
	case e.why != "":
		return source.Text(fmt.Sprintf("The workflow %q %s.", id, strings.TrimSuffix(a.Hide(e.why), ".")), true), nil
	}
	return jsonResult(a.Hide(e.result)), nil
}

// polled is the result of a call that has asked for the result of a workflow.
func (a *attempt) polled(id string, last *history.HistoryEvent) (*turnv1.ToolResult, error) {
	e := endOf(last)
	if e.why != "" || e.status == "" {
		out, err := a.outcome(id, last)
		if err != nil {
			return nil, err
		}
		out.StructuredContent = structured(map[string]any{"workflow_id": id, "status": e.status}).GetStructuredContent()
		return out, nil
	}
	return structured(map[string]any{"workflow_id": id, "status": e.status, "result": json.RawMessage(a.Hide(e.result))}), nil
}

// structured returns an object as a result.
func structured(object map[string]any) *turnv1.ToolResult {
	text, err := json.Marshal(object)
	if err != nil { // the JSON of a workflow's result was checked
		return source.Text("The result of the workflow cannot be read.", true)
	}
	return jsonResult(string(text))
}

// jsonResult returns JSON text as a result: structured too if it is an object or array.
func jsonResult(text string) *turnv1.ToolResult {
	out := source.Text(text, false)
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		return out
	}
	if values, depth := canon.Measure([]byte(text)); values > maxValues || depth > maxDepth {
		return out
	}
	if v, err := canon.ParseValue([]byte(text)); err == nil {
		out.StructuredContent = v
	}
	return out
}
