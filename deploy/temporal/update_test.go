package main

import (
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// slowUpdate is a workflow whose only update takes longer than the server holds a waiting caller.
func slowUpdate(ctx workflow.Context) error {
	done := false
	err := workflow.SetUpdateHandler(ctx, "add", func(ctx workflow.Context, a, b int) (int, error) {
		defer func() { done = true }()
		return a + b, workflow.Sleep(ctx, 1500*time.Millisecond)
	})
	if err != nil {
		return err
	}
	return workflow.Await(ctx, func() bool { return done && workflow.AllHandlersFinished(ctx) })
}

func TestCallersWaitLongerThanOnePoll(t *testing.T) {
	t.Parallel()
	c := start(t, "--headless")
	cl, err := client.Dial(client.Options{HostPort: c.ready.Address, Logger: silence{}})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	w := worker.New(cl, "updates", worker.Options{})
	w.RegisterWorkflow(slowUpdate)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()

	began := time.Now()
	run, err := cl.ExecuteWorkflow(t.Context(),
		client.StartWorkflowOptions{ID: "u", TaskQueue: "updates", EnableEagerStart: true}, slowUpdate)
	if err != nil {
		t.Fatal(err)
	}
	update, err := cl.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: "u", UpdateName: "add", Args: []any{2, 3}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		t.Fatal(err)
	}
	var sum int
	if err := update.Get(t.Context(), &sum); err != nil || sum != 5 {
		t.Errorf("update answered %d, %v", sum, err)
	}
	if err := run.Get(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %s", took)
	}

	// The worker is still polling: a stop must not wait for its polls to end.
	began = time.Now()
	c.signal(t, syscall.SIGINT)
	if code := c.end(t); code != exitOK || time.Since(began) > stopTimeout {
		t.Errorf("exit code %d after %s:\n%s", code, time.Since(began), c.stderr)
	}
	t.Logf("stopped in %s", time.Since(began).Round(time.Millisecond))
}
