package turn_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	sdktemporal "go.temporal.io/sdk/temporal"
	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/testpoll"
	"github.com/windlass-dev/windlass/libs/testtemporal"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/temporal/historytest"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

var withTools = &sessionsv1.Agent{Tools: []string{"*"}}

// newParking is a worker whose turns are parked as soon as they wait.
func newParking(t *testing.T) *live {
	l := newLive(t, turntest.New(t, turntest.Tool("x__guarded"), turntest.Tool("x__guarded_shortly")))
	l.parkAfter = time.Millisecond
	l.Tool(guarded)
	l.Model(turntest.CallTools("x__guarded", 1))
	return l
}

// parked returns when a run of the turn is parked that is not among the given ones, and gives it.
func (l *live) parked(turnID string, not ...string) *client.WorkflowExecutionDescription {
	l.t.Helper()
	var d *client.WorkflowExecutionDescription
	testpoll.Until(l.t, "the turn is parked", func() bool {
		var err error
		d, err = l.client.DescribeWorkflow(l.t.Context(), turnID, "")
		if err != nil {
			l.t.Fatal(err)
		}
		// Its only event is its start.
		if d.HistoryLength == 1 && status(d) == contract.StatusWaiting && !slices.Contains(not, d.WorkflowExecution.RunID) {
			return true
		}
		if d.Status != enums.WORKFLOW_EXECUTION_STATUS_RUNNING && d.Status != enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW {
			l.t.Fatalf("the turn is %v", d.Status)
		}
		return false
	})
	return d
}

func (l *live) approve(turnID string) {
	l.Journal.Answer(turnID, "tool-1.0", turnv1.Verdict_VERDICT_APPROVED)
}

var approved = contract.TurnResult{Status: "completed", StopReason: "end", ModelCalls: 2, ToolCalls: 1}

// TestATurnThatWaitsIsParked: its run ends, the next one begins with the answer, and the Temporal UI shows meanwhile what it waits for.
func TestATurnThatWaitsIsParked(t *testing.T) {
	l := newParking(t)
	first := l.begin("trn_parked", withTools)
	run := l.client.GetWorkflow(t.Context(), first.GetID(), first.GetRunID()) // the one that is waited for moves on with the runs
	d := l.parked("trn_parked")
	if s := status(d); s != contract.StatusWaiting {
		t.Errorf("status %s", s)
	}
	second := l.client.GetWorkflow(t.Context(), "trn_parked", d.WorkflowExecution.RunID)
	input := string(l.history(second).GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetInput().GetPayloads()[0].GetData())
	for _, want := range []string{
		`"park_after":"1ms"`, `"parked":"since `, `"steps_shown_until":"20`,
		`, after 3 steps (see the run before): tool x__guarded waits for approval apr_trn_parked_tool-1.0"`,
	} {
		if !strings.Contains(input, want) {
			t.Errorf("no %s in %s", want, input)
		}
	}
	l.once("trn_parked")

	l.approve("trn_parked")
	l.wake(first)
	if got := l.end(first); got != approved {
		t.Errorf("result = %+v", got)
	}
	if *update {
		historytest.Write(t, histories, "parked-1", l.history(run))
		historytest.Write(t, histories, "parked-2", l.history(second))
	}
	l.once("trn_parked")
	wantSummaries(t, l.history(second), `"goes on after 3 steps"`, `"approval, tool x__guarded → approved"`)
	end, err := l.client.DescribeWorkflow(t.Context(), "trn_parked", "")
	if err != nil {
		t.Fatal(err)
	}
	if end.WorkflowExecution.RunID != d.WorkflowExecution.RunID {
		t.Errorf("the end is run %s", end.WorkflowExecution.RunID)
	}
	if s := status(end); s != contract.StatusCompleted {
		t.Errorf("status %s", s)
	}
}

func status(d *client.WorkflowExecutionDescription) string {
	s, _ := d.TypedSearchAttributes.GetKeyword(sdktemporal.NewSearchAttributeKeyKeyword(contract.AttributeStatus))
	return s
}

// TestAParkedTurnIsEnded: by a cancel of any kind, and by its deadline.
func TestAParkedTurnIsEnded(t *testing.T) {
	l := newParking(t)
	cancelled := contract.TurnResult{Status: "cancelled", StopReason: "cancelled", ModelCalls: 1}
	for _, row := range []struct {
		name, tool string
		end        func(run client.WorkflowRun)
		want       contract.TurnResult
	}{
		{"cancelled", "x__guarded", func(run client.WorkflowRun) {
			asked := make(chan struct{}, 1)
			asked <- struct{}{}
			l.cancel(run, asked) // a plain signal: it is heard with the next
			l.wake(run)
		}, cancelled},
		{"cancelled-in-temporal", "x__guarded", func(run client.WorkflowRun) {
			asked := make(chan struct{}, 1)
			asked <- struct{}{}
			l.cancelWorkflow(run, asked)
		}, cancelled},
		{"expired", "x__guarded_shortly", func(client.WorkflowRun) {}, approved},
	} {
		t.Run(row.name, func(t *testing.T) {
			l.Model(turntest.CallTools(row.tool, 1))
			run := l.begin("trn_parked_"+row.name, withTools)
			l.parked(run.GetID())
			row.end(run)
			if got := l.end(run); got != row.want {
				t.Errorf("result = %+v, want %+v", got, row.want)
			}
		})
	}
}

// TestATurnThatIsCalledForNothingParksAgain: as when it was given more input, which it may read once it has its answer.
func TestATurnThatIsCalledForNothingParksAgain(t *testing.T) {
	l := newParking(t)
	run := l.begin("trn_again", withTools)
	first := l.parked(run.GetID()).WorkflowExecution.RunID
	l.wake(run)
	l.parked(run.GetID(), first)
	l.approve(run.GetID())
	l.wake(run)
	if got := l.end(run); got != approved {
		t.Errorf("result = %+v", got)
	}
	l.once(run.GetID())
}

// TestAnAnswerThatComesWhileATurnIsParked: it is on the server when the worker asks for the end of the run, so that is refused,
// and the run goes on.
func TestAnAnswerThatComesWhileATurnIsParked(t *testing.T) {
	l := &live{Mesh: turntest.New(t, turntest.Tool("x__guarded")), t: t, parkAfter: time.Millisecond}
	var run atomic.Pointer[string]
	var refused atomic.Int32
	answer := func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, call grpc.UnaryInvoker,
		opts ...grpc.CallOption,
	) error {
		task, ok := req.(*workflowservice.RespondWorkflowTaskCompletedRequest)
		last := len(task.GetCommands()) - 1
		parks := ok && last >= 0 && task.GetCommands()[last].GetCommandType() == enums.COMMAND_TYPE_CONTINUE_AS_NEW_WORKFLOW_EXECUTION
		if parks && refused.Load() == 0 {
			l.approve("trn_answered")
			if err := l.client.SignalWorkflow(ctx, "trn_answered", *run.Load(), contract.SignalWake, nil); err != nil {
				t.Error(err)
			}
		}
		err := call(ctx, method, req, reply, cc, opts...)
		if parks && err != nil && strings.Contains(err.Error(), "UnhandledCommand") {
			refused.Add(1)
		}
		return err
	}
	address := testtemporal.Server(t)
	c, err := client.DialContext(t.Context(), client.Options{
		HostPort: address, Identity: "test", Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		ConnectionOptions: client.ConnectionOptions{DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(answer)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	l.client = c
	l.Tool(guarded)
	l.Model(turntest.CallTools("x__guarded", 1))
	begun := l.begin("trn_answered", withTools)
	id := begun.GetRunID()
	run.Store(&id)
	l.worker = l.start("worker-1", 0)
	if got := l.end(begun); got != approved || refused.Load() != 1 {
		t.Errorf("result = %+v, refused %d times", got, refused.Load())
	}
	if begun.GetRunID() != id {
		t.Error("it was parked all the same")
	}
}

// TestTurnsThatWaitHoldNothing: with many turns parked the worker has no workflow in its memory, and no more goroutines than with
// one, but for a few that come and go with the work.
func TestTurnsThatWaitHoldNothing(t *testing.T) {
	const many = 100
	l := newParking(t)
	warm := l.begin("trn_warm", withTools)
	l.parked(warm.GetID())
	l.settle("the first turn", func() bool { return coroutines() == 0 })
	before := runtime.NumGoroutine()
	runs := make([]client.WorkflowRun, many)
	for i := range runs {
		runs[i] = l.begin(fmt.Sprintf("trn_many_%d", i), withTools)
	}
	for _, run := range runs {
		l.parked(run.GetID())
	}
	l.settle("many turns", func() bool { return coroutines() == 0 && runtime.NumGoroutine() <= before+many/10 })
	for _, run := range []client.WorkflowRun{warm, runs[0], runs[many-1]} {
		l.approve(run.GetID())
		l.wake(run)
		if got := l.end(run); got != approved {
			t.Errorf("result = %+v", got)
		}
	}
}

// settle waits for something that is not notified.
func (l *live) settle(what string, is func() bool) {
	l.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	patience := time.After(time.Minute)
	for !is() {
		select {
		case <-tick.C:
		case <-patience:
			_, _ = os.Stderr.WriteString(stacks())
			l.t.Fatalf("%s: %d goroutines, %d of workflows", what, runtime.NumGoroutine(), coroutines())
		}
	}
}

// coroutines counts the goroutines of workflows.
func coroutines() int {
	n := 0
	for stack := range strings.SplitSeq(stacks(), "\n\n") {
		if strings.Contains(stack, "internal.(*coroutineState)") {
			n++
		}
	}
	return n
}

func stacks() string {
	for size := 1 << 20; ; size *= 2 {
		if b := make([]byte, size); runtime.Stack(b, true) < size {
			return string(b[:runtime.Stack(b, true)])
		}
	}
}
