package workflow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/windlass-dev/windlass/libs/backoff"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry/source"
)

// Fields of the memo by which a workflow is recognised: who started it through which tool, and with which arguments. They are hashes.
const (
	memoOwner     = "windlass_owner"
	memoArguments = "windlass_arguments"
)

// start starts the workflow, or finds the one that an earlier attempt has started. A result means that nothing was started, and why.
func (a *attempt) start(ctx context.Context, id string) (*turnv1.ToolResult, error) {
	request, err := a.request(id)
	if err != nil {
		return nil, source.Unsent(fault.New(codes.InvalidArgument, faultv1.Reason_REASON_INVALID_TOOL_ARGUMENTS, "%s", err))
	}
	var started workflowservice.StartWorkflowExecutionResponse
	err = a.do(ctx, "StartWorkflowExecution", request, &started)
	if _, unsent := errors.AsType[notSentError](err); unsent {
		return nil, a.notReached(err)
	}
	switch code := status.Code(err); {
	case err == nil && started.GetStarted():
		return nil, nil
	case err == nil, code == codes.AlreadyExists:
		return a.attach(ctx, id)
	case code == codes.ResourceExhausted && !tooLarge(err): // it takes no more requests now
		return nil, a.notReached(err)
	case passing(err):
		return a.lookFor(ctx, id, err)
	default:
		return source.Text("Temporal refused to start the workflow: "+a.text(err), true), nil
	}
}

// request returns the request that starts the workflow. It is the same in each attempt, so Temporal recognises it.
func (a *attempt) request(id string) (*workflowservice.StartWorkflowExecutionRequest, error) {
	input, err := parameters(a.Action, a.Args)
	if err != nil {
		return nil, err
	}
	request := &workflowservice.StartWorkflowExecutionRequest{
		Namespace: a.namespace(), WorkflowId: id, WorkflowType: &common.WorkflowType{Name: a.Action.Type},
		TaskQueue: &taskqueue.TaskQueue{Name: a.Action.TaskQueue, Kind: enums.TASK_QUEUE_KIND_NORMAL}, Input: input,
		Identity: "windlass", RequestId: digest(a.Source.Tenant, a.Source.ID, a.Key, id),
		WorkflowIdReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowIdConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		Memo: &common.Memo{Fields: map[string]*common.Payload{
			memoOwner: quoted(a.owner()), memoArguments: quoted(a.Args.Hash()),
		}},
	}
	if a.Action.Timeout > 0 {
		request.WorkflowExecutionTimeout = durationpb.New(time.Duration(a.Action.Timeout) * time.Second)
	}
	return request, nil
}

// attach checks that the existing workflow is the one that the call would start.
func (a *attempt) attach(ctx context.Context, id string) (*turnv1.ToolResult, error) {
	found, err := a.find(ctx, id)
	if errors.Is(err, errGone) {
		return source.Text(fmt.Sprintf("A workflow with the ID %q was there, and is gone; nothing was started.", id), true), nil
	}
	if err != nil {
		return nil, a.unanswered(ctx, id, err)
	}
	return a.adopt(found, id), nil
}

// lookFor finds out what became of a start whose answer was lost.
func (a *attempt) lookFor(ctx context.Context, id string, lost error) (*turnv1.ToolResult, error) {
	found, err := a.find(ctx, id)
	switch {
	case err != nil: // it may be started still, if it is not there
		return nil, a.unanswered(ctx, id, lost)
	default:
		return a.adopt(found, id), nil
	}
}

// adopt returns nil if an existing workflow is the one that the call would start.
func (a *attempt) adopt(found workflow, id string) *turnv1.ToolResult {
	if found.of(a.Call) && found.arguments == a.Args.Hash() {
		return nil
	}
	return source.Text(fmt.Sprintf("A workflow with the ID %q exists already, and was not started by you with these arguments; "+
		"nothing was started.", id), true)
}

// workflow is what is known of an existing workflow.
type workflow struct {
	kind, owner, arguments string
	status                 enums.WorkflowExecutionStatus
}

// of reports whether a tool of the call's entry started it, on behalf of the same subject.
func (w workflow) of(c Call) bool { return w.owner == c.owner() && w.kind == c.Action.Type }

func (w workflow) running() bool {
	return w.status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING || w.status == enums.WORKFLOW_EXECUTION_STATUS_PAUSED
}

// describe reads a workflow. It returns errGone if there is none.
func (a *attempt) describe(ctx context.Context, id string) (workflow, error) {
	var answer workflowservice.DescribeWorkflowExecutionResponse
	err := a.do(ctx, "DescribeWorkflowExecution", &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: a.namespace(), Execution: &common.WorkflowExecution{WorkflowId: id},
	}, &answer)
	if status.Code(err) == codes.NotFound {
		return workflow{}, errGone
	}
	if err != nil {
		return workflow{}, err
	}
	info := answer.GetWorkflowExecutionInfo()
	fields := info.GetMemo().GetFields()
	return workflow{
		kind: info.GetType().GetName(), owner: unquoted(fields[memoOwner]), arguments: unquoted(fields[memoArguments]),
		status: info.GetStatus(),
	}, nil
}

// find is describe that asks again until there is an answer or ctx ends.
func (a *attempt) find(ctx context.Context, id string) (workflow, error) {
	pauses := retries.Start()
	for {
		found, err := a.describe(ctx, id)
		if err == nil || errors.Is(err, errGone) || !passing(err) || pauses.Wait(ctx) != nil {
			return found, err
		}
	}
}

// retries are the pauses between requests that only read.
var retries = backoff.Policy{First: 50 * time.Millisecond, Max: 2 * time.Second}
