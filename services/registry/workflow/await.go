package workflow

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// await waits for the last event of a workflow, over all its runs. It asks again whatever breaks off, until ctx ends.
func (a *attempt) await(ctx context.Context, id string) (*history.HistoryEvent, error) {
	run, token := "", []byte(nil)
	pauses := retries.Start()
	for {
		begin := time.Now()
		answer, err := a.history(ctx, id, run, token)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case status.Code(err) == codes.NotFound:
			return nil, errGone
		case err != nil && !passing(err):
			return nil, err
		case err != nil:
			token = nil
		default:
			last, err := lastEvent(answer)
			if err != nil {
				return nil, err
			}
			next := nextRun(last)
			if last != nil && next == "" {
				return last, nil
			}
			if token = answer.GetNextPageToken(); next != "" {
				run, token = next, nil
			}
		}
		if time.Since(begin) > time.Second { // the server has held the request
			pauses.Reset()
		}
		if err := pauses.Wait(ctx); err != nil {
			return nil, err
		}
	}
}

// history waits for the last event of a run. The answer has none if the server does not wait any longer.
func (a *attempt) history(ctx context.Context, id, run string, token []byte) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	answer := &workflowservice.GetWorkflowExecutionHistoryResponse{}
	err := a.do(ctx, "GetWorkflowExecutionHistory", &workflowservice.GetWorkflowExecutionHistoryRequest{
		Namespace: a.namespace(), Execution: &common.WorkflowExecution{WorkflowId: id, RunId: run}, NextPageToken: token,
		WaitNewEvent: true, HistoryEventFilterType: enums.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT, SkipArchival: true,
	}, answer)
	return answer, err
}

// lastEvent returns the last event of an answer, nil if there is none.
func lastEvent(answer *workflowservice.GetWorkflowExecutionHistoryResponse) (*history.HistoryEvent, error) {
	events := answer.GetHistory().GetEvents()
	for _, blob := range answer.GetRawHistory() {
		var part history.History
		if err := proto.Unmarshal(blob.GetData(), &part); err != nil {
			return nil, fmt.Errorf("decode history: %w", err)
		}
		events = append(events, part.GetEvents()...)
	}
	if len(events) == 0 {
		return nil, nil
	}
	return events[len(events)-1], nil
}

// nextRun returns the run that continues a workflow after an event, empty if it ended.
func nextRun(e *history.HistoryEvent) string {
	switch e.GetEventType() {
	case enums.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
		return e.GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
	case enums.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
		return e.GetWorkflowExecutionCompletedEventAttributes().GetNewExecutionRunId()
	case enums.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
		return e.GetWorkflowExecutionFailedEventAttributes().GetNewExecutionRunId()
	case enums.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT:
		return e.GetWorkflowExecutionTimedOutEventAttributes().GetNewExecutionRunId()
	default:
		return ""
	}
}
