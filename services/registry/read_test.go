package registry_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/testpoll"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// TestReadsAreRecordedAfterTheirAnswer makes calls that only read, directly and in a turn: their rows come later, and none is lost.
func TestReadsAreRecordedAfterTheirAnswer(t *testing.T) {
	for name, read := range map[string]func(*replica) string{"": (*replica).readDirectly, " in a turn": (*replica).readInTurn} {
		t.Run("on SQLite"+name, func(t *testing.T) { readsAreRecorded(t, newWorld(t), read) })
		t.Run("on PostgreSQL"+name, func(t *testing.T) { readsAreRecorded(t, newWorldOn(t, tables.Postgres(t)), read) })
	}
}

// readDirectly makes a direct call and returns the id of its execution.
func (r *replica) readDirectly() string {
	resp, err := r.tools.InvokeTool(r.w.t.Context(), &registryv1.InvokeToolRequest{
		Name: "notes__read", Arguments: args(r.w.t, map[string]any{"text": "x"}), Fresh: true,
	})
	if err != nil {
		r.w.t.Error(err)
	}
	return resp.GetExecutionId()
}

// readInTurn makes a call of a turn and returns the id of its execution.
func (r *replica) readInTurn() string {
	n := keys.Add(1)
	req := r.request("notes__read", fmt.Sprint("key-", n))
	req.ArgumentsJson = fmt.Sprintf(`{"text":"%d"}`, n) // none is answered from the cache
	s := r.call(r.w.t.Context(), req)
	if s.err != nil || s.decided == nil {
		r.w.t.Errorf("call in a turn: %+v", s)
	}
	return s.completed.GetExecutionId()
}

func readsAreRecorded(t *testing.T, w *world, readBy func(*replica) string) {
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
	read := func() string { return readBy(one) }
	quick := read()
	if rows := one.executions(); len(rows) != 1 || rows[0].GetId() != quick || enum.Name(rows[0].GetState()) != "done" {
		t.Errorf("after the answer: %v", rows)
	}
	slow := make(chan string, 1)
	go func() { slow <- read() }()
	<-reached
	testpoll.Until(t, "another replica sees the call that runs", func() bool {
		rows := two.executions()
		return len(rows) == 2 && enum.Name(rows[0].GetState()) == "open"
	})
	close(released)
	ended := <-slow
	if rows := two.executions(); enum.Name(rows[0].GetState()) != "done" || rows[0].GetId() != ended {
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
