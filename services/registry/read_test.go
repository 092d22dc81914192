package registry_test

import (
	"context"
	"testing"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/testpoll"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// TestReadsAreRecordedAfterTheirAnswer makes calls that only read and that nobody repeats: their rows come later, and none is lost.
func TestReadsAreRecordedAfterTheirAnswer(t *testing.T) {
	t.Run("on SQLite", func(t *testing.T) { readsAreRecorded(t, newWorld(t)) })
	t.Run("on PostgreSQL", func(t *testing.T) { readsAreRecorded(t, newWorldOn(t, tables.Postgres(t))) })
}

func readsAreRecorded(t *testing.T, w *world) {
	one, two := w.start(config()), w.start(config())
	one.notes()
	reached, released := make(chan struct{}), make(chan struct{})
	w.bridge.set(func() {
		w.bridge.call = func(_ context.Context, req *mcpbridgev1.CallToolRequest, _ func(float64, float64, string)) (*mcpbridgev1.CallToolResult,
			error,
		) {
			switch n := len(w.bridge.seen()); {
			case n == 2:
				close(reached)
				<-released
			case n == 3:
				return nil, outcomeUnknown() // and it is sent again
			}
			return answer(req.GetTool()), nil
		}
	})
	read := func() *registryv1.InvokeToolResponse {
		resp, err := one.tools.InvokeTool(t.Context(), &registryv1.InvokeToolRequest{
			Name: "notes__read", Arguments: args(t, map[string]any{"text": "x"}), Fresh: true,
		})
		if err != nil {
			t.Error(err)
		}
		return resp
	}
	quick := read()
	if rows := one.executions(); len(rows) != 1 || rows[0].GetId() != quick.GetExecutionId() || enum.Name(rows[0].GetState()) != "done" {
		t.Errorf("after the answer: %v", rows)
	}
	slow := make(chan *registryv1.InvokeToolResponse, 1)
	go func() { slow <- read() }()
	<-reached
	testpoll.Until(t, "another replica sees the call that runs", func() bool {
		rows := two.executions()
		return len(rows) == 2 && enum.Name(rows[0].GetState()) == "open"
	})
	close(released)
	ended := <-slow
	if rows := two.executions(); enum.Name(rows[0].GetState()) != "done" || rows[0].GetId() != ended.GetExecutionId() {
		t.Errorf("when it has ended: %v", rows[0])
	}
	read()
	if rows := two.executions(); len(rows) != 3 || rows[0].GetAttempts() != 2 || enum.Name(rows[0].GetState()) != "done" {
		t.Errorf("sent twice: %v", rows)
	}
	read()
	one.stop()
	if rows := two.executions(); len(rows) != 4 {
		t.Errorf("%d rows after the replica has stopped", len(rows))
	}
}

func (r *replica) executions() []*registryv1.Execution {
	r.w.t.Helper()
	resp, err := r.tools.ListExecutions(r.w.t.Context(), &registryv1.ListExecutionsRequest{})
	if err != nil {
		r.w.t.Fatal(err)
	}
	return resp.GetExecutions()
}

// TestAKeyThatIsNotNew repeats calls whose keys are said to be new.
func TestAKeyThatIsNotNew(t *testing.T) {
	w := newWorld(t)
	r := w.start(config())
	r.notes()
	run := func(tool, arguments string) *registryv1.InvokeToolResponse {
		stream, err := r.tools.RunTool(t.Context(), &registryv1.RunToolRequest{
			Name: tool, ArgumentsJson: []byte(arguments), IdempotencyKey: "k-" + tool, NewKey: true, Fresh: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		m, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return m.GetResult()
	}
	first, again := run("notes__send", `{"text":"x","n":1}`), run("notes__send", `{"text":"x","n":1}`)
	if !again.GetCached() || again.GetExecutionId() != first.GetExecutionId() || len(w.bridge.seen()) != 1 {
		t.Errorf("a call with effects: %v, then %v", first, again)
	}
	run("notes__read", `{"text":"x"}`)
	run("notes__read", `{"text":"x"}`)
	if rows := r.executions(); len(rows) != 2 || len(w.bridge.seen()) != 3 {
		t.Errorf("a call that only reads: %d rows, %d calls", len(rows), len(w.bridge.seen()))
	}
}
