package workflow_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/testpoll"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
	"github.com/windlass-dev/windlass/services/registry/workflow"
)

// properties are a schema with the arguments of the workflows.
var properties = map[string]any{
	"type": "object", "required": []any{"id"},
	"properties": map[string]any{"id": map[string]any{"type": "string"}, "n": map[string]any{}, "a": map[string]any{}, "b": map[string]any{}},
}

// TestACallIsAWorkflow covers how workflows end, and what a call that is made again gets.
func TestACallIsAWorkflow(t *testing.T) {
	w := newWorld(t)
	for _, row := range []struct {
		name, arguments, want string
		entry                 store.WorkflowTool
		isError               bool
	}{
		{name: "one object", entry: store.WorkflowTool{Name: "echo"}, arguments: `{"id":"7","n":3}`, want: `{"id":"7","n":3}`},
		{
			name: "parameters in order, one left out",
			entry: store.WorkflowTool{
				Name: "sum", Type: "add", InputSchema: properties, Positional: []string{"a", "b", "n"},
			},
			arguments: `{"id":"x","a":3,"b":4}`, want: `7`,
		},
		{name: "no result", entry: store.WorkflowTool{Name: "nothing"}, arguments: `{"id":"x"}`, want: `null`},
		{name: "several runs", entry: store.WorkflowTool{Name: "again"}, arguments: `{"id":"x","n":3}`, want: `"at last x"`},
		{
			name: "a failure", entry: store.WorkflowTool{Name: "fails"}, arguments: `{"id":"x"}`, isError: true,
			want: `failed: the order failed: no money`,
		},
		{name: "a result that is no JSON", entry: store.WorkflowTool{Name: "large"}, arguments: `{"id":"x"}`, want: "too large"},
		{
			name: "a workflow that times out", entry: store.WorkflowTool{Name: "waits", ExecutionTimeout: 1}, arguments: `{"id":"x"}`,
			want: "timed out", isError: true,
		},
		{
			name: "a task queue that Temporal refuses", entry: store.WorkflowTool{Name: "echo", ID: strings.Repeat("x", 2000)},
			arguments: `{"id":"x"}`, want: "longer than 500 bytes", isError: true,
		},
		{
			name: "a wrong kind of argument in the ID", entry: store.WorkflowTool{Name: "echo", ID: "o-${args.id}", InputSchema: properties},
			arguments: `{"id":["x"]}`, want: "neither text, number nor boolean", isError: true,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			for range 2 { // the second one finds the workflow of the first
				c := w.call(row.entry, row.name, row.arguments)
				result, err := w.calls.Call(t.Context(), c)
				got := text(result)
				if err != nil {
					got = err.Error()
				}
				if !strings.Contains(got, row.want) || result.GetIsError() != row.isError {
					t.Errorf("got %q, an error: %t", got, result.GetIsError())
				}
			}
		})
	}
	if got := w.wire.header.Get("authorization"); len(got) != 1 || got[0] != "Bearer hunter2-hunter2" {
		t.Errorf("the credentials: %v", got)
	}
	if n := w.count(`WorkflowType = "echo"`); n != 1 {
		t.Errorf("%d workflows", n)
	}
}

// count counts workflows, once Temporal lists them.
func (w *world) count(query string) int64 {
	w.t.Helper()
	resp, err := w.temporal.CountWorkflow(w.t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Query: query})
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.GetCount()
}

// TestALostAnswerStartsNothingAgain covers the wire: the request to start is sent once, whatever happens to it and to its answer.
func TestALostAnswerStartsNothingAgain(t *testing.T) {
	w := newWorld(t)
	gone := status.Error(codes.Unavailable, "the connection broke")
	for _, row := range []struct {
		name          string
		before, after []error
		waits         []error
		fate          source.Outcome
		reason        faultv1.Reason
		refused       string
	}{
		{name: "the answer to the start is lost", after: []error{gone}},
		{name: "its server fails", after: []error{status.Error(codes.Internal, "oops")}},
		{name: "waiting breaks off twice", waits: []error{gone, status.Error(codes.Unknown, "what"), gone}},
		{name: "the start does not arrive", before: []error{gone}, fate: source.InDoubt, reason: faultv1.Reason_REASON_OUTCOME_UNKNOWN},
		{
			name: "Temporal takes no more requests", before: []error{status.Error(codes.ResourceExhausted, "slow down")},
			fate: source.NotSent, reason: faultv1.Reason_REASON_TOOL_UNAVAILABLE,
		},
		{
			name: "Temporal refuses", before: []error{status.Error(codes.PermissionDenied, "not you")},
			refused: "refused to start the workflow: not you",
		},
		{
			name: "it may not be waited for", waits: []error{status.Error(codes.PermissionDenied, "not you")},
			fate: source.InDoubt, reason: faultv1.Reason_REASON_OUTCOME_UNKNOWN,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			w.wire.set(func() { w.wire.starts, w.wire.before, w.wire.after, w.wire.waits = 0, row.before, row.after, row.waits })
			result, err := w.calls.Call(t.Context(), w.call(store.WorkflowTool{Name: "echo"}, row.name, `{"id":"7"}`))
			failure, _ := errors.AsType[*source.Error](err)
			switch {
			case row.fate != 0 && (failure == nil || failure.Outcome != row.fate || failure.Fault.Reason != row.reason):
				t.Errorf("got %v, %v", result, err)
			case row.refused != "" && (!result.GetIsError() || !strings.Contains(text(result), row.refused)):
				t.Errorf("got %v, %v", result, err)
			case row.fate == 0 && row.refused == "" && (err != nil || text(result) != `{"id":"7","n":0}`):
				t.Errorf("got %v, %v", result, err)
			}
			if w.wire.starts != 1 {
				t.Errorf("%d requests to start", w.wire.starts)
			}
		})
	}
}

// TestAWorkerThatDies: the call waits until another worker has done the work.
func TestAWorkerThatDies(t *testing.T) {
	w := newWorld(t)
	c := w.call(store.WorkflowTool{Name: "waits", ID: "order-${args.id}", InputSchema: properties}, "k", `{"id":"9"}`)
	type answer struct {
		result *turnv1.ToolResult
		err    error
	}
	done := make(chan answer, 1)
	go func() {
		result, err := w.calls.Call(t.Context(), c)
		done <- answer{result, err}
	}()
	<-w.wire.held // it was started, and is waited for
	w.worker.Stop()
	if err := w.temporal.SignalWorkflow(t.Context(), "order-9", "", "go", nil); err != nil {
		t.Fatal(err)
	}
	w.start()
	if a := <-done; a.err != nil || text(a.result) != `"done 9"` {
		t.Errorf("got %v", a)
	}
}

// TestTheCallEndsBeforeTheWorkflow: the workflow goes on, and the same call made again waits for it.
func TestTheCallEndsBeforeTheWorkflow(t *testing.T) {
	w := newWorld(t)
	c := w.call(store.WorkflowTool{Name: "waits", ID: "order-${args.id}", InputSchema: properties}, "k", `{"id":"9"}`)
	c.Timeout = 500 * time.Millisecond
	_, err := w.calls.Call(t.Context(), c)
	if failure, ok := errors.AsType[*source.Error](err); !ok || failure.Outcome != source.InDoubt ||
		failure.Fault.Reason != faultv1.Reason_REASON_DEADLINE_EXCEEDED {
		t.Fatalf("got %v", err)
	}
	given, giveUp := context.WithCancel(t.Context())
	giveUp()
	if _, err := w.calls.Call(given, c); fault.From(err).Reason == faultv1.Reason_REASON_DEADLINE_EXCEEDED {
		t.Errorf("given up: %v", err)
	}
	c.Timeout = 30 * time.Second
	if err := w.temporal.SignalWorkflow(t.Context(), "order-9", "", "go", nil); err != nil {
		t.Fatal(err)
	}
	if got := text(w.must(c)); got != `"done 9"` {
		t.Errorf("got %s", got)
	}
}

// TestAnIDThatExists: a workflow of somebody else, or for something else, is neither started again nor shown.
func TestAnIDThatExists(t *testing.T) {
	w := newWorld(t)
	entry := store.WorkflowTool{Name: "echo", ID: "order-${args.id}", InputSchema: properties}
	if got := text(w.must(w.call(entry, "k1", `{"id":"1"}`))); got != `{"id":"1","n":0}` {
		t.Fatalf("got %s", got)
	}
	same := w.call(entry, "k2", `{"id":"1"}`)
	if got := text(w.must(same)); got != `{"id":"1","n":0}` {
		t.Errorf("the same arguments under another key: %s", got)
	}
	other := w.call(entry, "k3", `{"id":"1","n":5}`)
	eve := same
	eve.Subject = "eve"
	renamed := entry
	renamed.Name, renamed.Type = "echo2", "echo"
	for name, c := range map[string]workflow.Call{
		"other arguments": other, "another subject": eve, "another tool": w.call(renamed, "k4", `{"id":"1"}`),
	} {
		if got := w.must(c); !got.GetIsError() || !strings.Contains(text(got), "exists already") {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestAWorkflowThatIsPolled starts it with one tool and asks for its result with the other.
func TestAWorkflowThatIsPolled(t *testing.T) {
	w := newWorld(t)
	entry := store.WorkflowTool{Name: "waits", Mode: "poll"}
	started := w.must(w.call(entry, "k", `{"id":"3"}`))
	fields := started.GetStructuredContent().GetStructValue().GetFields()
	id := fields["workflow_id"].GetStringValue()
	if id == "" || fields["status"].GetStringValue() != "running" {
		t.Fatalf("started: %v", started)
	}
	for seconds, name := range []string{"without waiting", "after waiting"} {
		if got := text(w.must(w.resultOf(entry, id, seconds))); got != `{"status":"running","workflow_id":"`+id+`"}` {
			t.Errorf("%s: %s", name, got)
		}
	}
	eve := w.resultOf(entry, id, 0)
	eve.Subject = "eve"
	for name, c := range map[string]workflow.Call{"another subject": eve, "no such workflow": w.resultOf(entry, "none", 0)} {
		if got := w.must(c); !got.GetIsError() || !strings.Contains(text(got), "There is no workflow") {
			t.Errorf("%s: %v", name, got)
		}
	}
	if err := w.temporal.SignalWorkflow(t.Context(), id, "", "go", nil); err != nil {
		t.Fatal(err)
	}
	if got := text(w.must(w.resultOf(entry, id, 20))); got != `{"result":"done 3","status":"completed","workflow_id":"`+id+`"}` {
		t.Errorf("at the end: %s", got)
	}
	cancel := store.WorkflowTool{Name: "cancelled", Mode: "poll"}
	id = w.must(w.call(cancel, "k", `{"id":"4"}`)).GetStructuredContent().GetStructValue().GetFields()["workflow_id"].GetStringValue()
	if err := w.temporal.CancelWorkflow(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	got := w.must(w.resultOf(cancel, id, 20))
	if !got.GetIsError() || got.GetStructuredContent().GetStructValue().GetFields()["status"].GetStringValue() != "cancelled" {
		t.Errorf("a cancelled one: %v", got)
	}
}

// TestTemporalThatIsAway says that nothing was started.
func TestTemporalThatIsAway(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	w := &world{t: t}
	public, err := egress.New(egress.Config{Profile: egress.Public})
	if err != nil {
		t.Fatal(err)
	}
	local, err := egress.New(egress.Config{Profile: egress.Local})
	if err != nil {
		t.Fatal(err)
	}
	w.source = store.Source{ID: "src_1", Name: "shop", Spec: store.Spec{Temporal: &store.Temporal{Address: closed.Addr().String()}}}
	call := w.call(store.WorkflowTool{Name: "echo"}, "k", `{}`)
	asks := w.resultOf(store.WorkflowTool{Name: "echo", Mode: "poll"}, "x", 0)
	for _, row := range []struct {
		name   string
		egress *egress.Egress
		call   workflow.Call
		reason faultv1.Reason
		want   string
	}{
		{"nobody listens", local, call, faultv1.Reason_REASON_TOOL_UNAVAILABLE, "connection refused"},
		{"a result is asked for", local, asks, faultv1.Reason_REASON_TOOL_UNAVAILABLE, "connection refused"},
		{"the address is forbidden", public, call, faultv1.Reason_REASON_EGRESS_DENIED, "egress denied"},
	} {
		calls := workflow.NewClient(row.egress, 1<<20)
		for range 2 { // the second attempt connects again
			_, err := calls.Call(t.Context(), row.call)
			failure, ok := errors.AsType[*source.Error](err)
			if !ok || failure.Outcome != source.NotSent || failure.Fault.Reason != row.reason || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%s: %v", row.name, err)
			}
		}
		calls.Forget(w.source)
		calls.Close()
	}
}

// TestCallsOfWorkflows is the table code × moment: whatever Temporal answers, and whenever, a call asks it once to start a workflow, and
// another attempt at the same call finds what the first one started.
func TestCallsOfWorkflows(t *testing.T) {
	w := newWorld(t)
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		fails := []error{status.Error(code, "no")}
		for name, row := range map[string]struct{ before, after, waits []error }{
			"before the start": {before: fails}, "after the start": {after: fails}, "while it waits": {waits: fails},
			"after the start and while it waits": {after: fails, waits: fails},
		} {
			t.Run(code.String()+" "+name, func(t *testing.T) {
				c := w.call(store.WorkflowTool{Name: "echo"}, t.Name(), `{"id":"7"}`)
				w.wire.set(func() { w.wire.starts, w.wire.before, w.wire.after, w.wire.waits = 0, row.before, row.after, row.waits })
				result, err := w.calls.Call(t.Context(), c)
				if w.wire.starts != 1 {
					t.Errorf("%d requests to start", w.wire.starts)
				}
				failure, classified := errors.AsType[*source.Error](err)
				switch {
				case err != nil && !classified:
					t.Errorf("an error without a fate: %v", err)
				case code == codes.ResourceExhausted: // says that nothing was done; the second attempt finds what was
				case classified && failure.Outcome == source.NotSent && row.before == nil:
					t.Errorf("Temporal started it, the call says not sent: %v", err)
				case err == nil && result.GetIsError() && row.waits != nil && row.after == nil:
					t.Errorf("it was started, the call says that the tool refused: %s", text(result))
				}
				w.wire.set(func() { w.wire.before, w.wire.after, w.wire.waits = nil, nil, nil })
				if got := text(w.must(c)); got != `{"id":"7","n":0}` {
					t.Errorf("the second attempt: %s", got)
				}
			})
		}
	}
	want := int64(4 * codes.Unauthenticated) // one each
	testpoll.Until(t, "Temporal lists one workflow for each call", func() bool { return w.count(`WorkflowType = "echo"`) >= want })
	if n := w.count(`WorkflowType = "echo"`); n != want {
		t.Errorf("%d workflows, want %d", n, want)
	}
}
