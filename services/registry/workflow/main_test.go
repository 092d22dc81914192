package workflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	sdk "go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testtemporal"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry/store"
	"github.com/windlass-dev/windlass/services/registry/workflow"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

// order is the input of the workflows.
type order struct {
	ID string `json:"id"`
	N  int    `json:"n,omitempty"`
}

func echo(_ sdk.Context, o order) (map[string]any, error) {
	return map[string]any{"id": o.ID, "n": o.N}, nil
}

func add(_ sdk.Context, a, b int, label *string) (int, error) {
	if label != nil {
		return 0, errors.New("a label was given")
	}
	return a + b, nil
}

func fails(_ sdk.Context, _ order) error {
	return temporal.NewApplicationErrorWithCause("the order failed", "Declined", errors.New("no money"))
}

func nothing(sdk.Context, order) error { return nil }

// waits ends with the signal "go".
func waits(ctx sdk.Context, o order) (string, error) {
	sdk.GetSignalChannel(ctx, "go").Receive(ctx, nil)
	return "done " + o.ID, ctx.Err()
}

// again continues as new n times.
func again(ctx sdk.Context, o order) (string, error) {
	if o.N > 0 {
		return "", sdk.NewContinueAsNewError(ctx, again, order{o.ID, o.N - 1})
	}
	return "at last " + o.ID, nil
}

func large(sdk.Context, order) ([]byte, error) { return make([]byte, 100_000), nil }

func cancelled(ctx sdk.Context, o order) (string, error) {
	_ = sdk.Await(ctx, func() bool { return false })
	return "", ctx.Err()
}

// queue is the task queue of the workflows.
const queue = "orders"

// world is a real Temporal with a worker, behind a server that fails as it is told.
type world struct {
	t        *testing.T
	temporal client.Client
	worker   worker.Worker
	wire     *wire
	calls    *workflow.Client
	source   store.Source
}

func newWorld(t *testing.T) *world {
	t.Helper()
	address := testtemporal.Server(t)
	c, err := client.DialContext(t.Context(), client.Options{
		HostPort: address, Identity: "test", Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	w := &world{t: t, temporal: c, wire: newWire(t, address)}
	w.start()
	t.Cleanup(func() { w.worker.Stop() })
	e, err := egress.New(egress.Config{Profile: egress.Local})
	if err != nil {
		t.Fatal(err)
	}
	w.calls = workflow.NewClient(e, 64<<10)
	t.Cleanup(w.calls.Close)
	w.source = store.Source{
		Tenant: "default", ID: "src_1", Name: "shop", Spec: store.Spec{Temporal: &store.Temporal{Address: w.wire.address}},
	}
	return w
}

// start starts a worker.
func (w *world) start() {
	w.t.Helper()
	w.worker = worker.New(w.temporal, queue, worker.Options{StickyScheduleToStartTimeout: 100 * time.Millisecond})
	for name, f := range map[string]any{
		"echo": echo, "add": add, "fails": fails, "nothing": nothing, "waits": waits, "again": again, "large": large, "cancelled": cancelled,
	} {
		w.worker.RegisterWorkflowWithOptions(f, sdk.RegisterOptions{Name: name})
	}
	if err := w.worker.Start(); err != nil {
		w.t.Fatal(err)
	}
}

// action returns the action of the first tool of an entry, or of the tool for its results.
func (w *world) action(e store.WorkflowTool, result bool) workflow.Action {
	w.t.Helper()
	e.TaskQueue = queue
	tools, err := workflow.New(e)
	if err != nil {
		w.t.Fatal(err)
	}
	if result {
		return tools[1].Action
	}
	return tools[0].Action
}

// call returns a call of an entry under a key.
func (w *world) call(e store.WorkflowTool, key, arguments string) workflow.Call {
	w.t.Helper()
	args, err := canon.Parse([]byte(arguments))
	if err != nil {
		w.t.Fatal(err)
	}
	return workflow.Call{
		Source: w.source, Action: w.action(e, false), Args: args, Key: key, Subject: "ann", Timeout: 30 * time.Second,
		Authorize: func(r *http.Request) error { r.Header.Set("Authorization", "Bearer hunter2-hunter2"); return nil },
		Hide:      func(s string) string { return s },
	}
}

// resultOf returns a call that asks for the result of a workflow.
func (w *world) resultOf(e store.WorkflowTool, id string, seconds int) workflow.Call {
	w.t.Helper()
	text, err := json.Marshal(map[string]any{"workflow_id": id, "wait_seconds": seconds})
	if err != nil {
		w.t.Fatal(err)
	}
	c := w.call(e, "", string(text))
	c.Action = w.action(e, true)
	return c
}

// must makes a call that has a result.
func (w *world) must(c workflow.Call) *turnv1.ToolResult {
	w.t.Helper()
	result, err := w.calls.Call(w.t.Context(), c)
	if err != nil {
		w.t.Fatal(err)
	}
	return result
}

func text(r *turnv1.ToolResult) string {
	if len(r.GetContent()) == 0 {
		return ""
	}
	return r.GetContent()[0].GetText()
}

// wire is a Temporal server that forwards to a real one, unless it is told to fail.
type wire struct {
	workflowservice.UnimplementedWorkflowServiceServer
	real    workflowservice.WorkflowServiceClient
	address string

	mu     sync.Mutex
	starts int
	before []error // what requests to start are answered instead of being forwarded
	after  []error // what they are answered after they were forwarded
	waits  []error // what requests for the history are answered
	held   chan struct{}
	header metadata.MD
}

func newWire(t *testing.T, address string) *wire {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	w := &wire{real: workflowservice.NewWorkflowServiceClient(conn), held: make(chan struct{}, 100)}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.address = listener.Addr().String()
	server := grpc.NewServer()
	workflowservice.RegisterWorkflowServiceServer(server, w)
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(listener) }()
	t.Cleanup(func() { server.Stop(); <-done })
	return w
}

// set changes what fails.
func (w *wire) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// next takes the first of a list of errors.
func (w *wire) next(list *[]error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(*list) == 0 {
		return nil
	}
	err := (*list)[0]
	*list = (*list)[1:]
	return err
}

func (w *wire) StartWorkflowExecution(ctx context.Context, r *workflowservice.StartWorkflowExecutionRequest,
) (*workflowservice.StartWorkflowExecutionResponse, error) {
	w.set(func() { w.starts++; w.header, _ = metadata.FromIncomingContext(ctx) })
	if err := w.next(&w.before); err != nil {
		return nil, err
	}
	out, err := w.real.StartWorkflowExecution(ctx, proto.CloneOf(r))
	if lost := w.next(&w.after); lost != nil {
		return nil, lost
	}
	return out, err
}

func (w *wire) GetWorkflowExecutionHistory(ctx context.Context, r *workflowservice.GetWorkflowExecutionHistoryRequest,
) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	select {
	case w.held <- struct{}{}:
	default:
	}
	if err := w.next(&w.waits); err != nil {
		return nil, err
	}
	return w.real.GetWorkflowExecutionHistory(ctx, r)
}

func (w *wire) DescribeWorkflowExecution(ctx context.Context, r *workflowservice.DescribeWorkflowExecutionRequest,
) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return w.real.DescribeWorkflowExecution(ctx, r)
}

func (w *wire) DescribeNamespace(ctx context.Context, r *workflowservice.DescribeNamespaceRequest,
) (*workflowservice.DescribeNamespaceResponse, error) {
	return w.real.DescribeNamespace(ctx, r)
}

func (w *wire) GetSystemInfo(ctx context.Context, r *workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse, error) {
	return w.real.GetSystemInfo(ctx, r)
}
