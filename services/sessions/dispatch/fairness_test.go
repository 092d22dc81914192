package dispatch_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/windlass-dev/windlass/libs/testtemporal"
	"github.com/windlass-dev/windlass/services/sessions/dispatch"
	"github.com/windlass-dev/windlass/services/sessions/outbox"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// TestS22ATenantWithManyTurnsDoesNotDelayAnother queues many turns of one tenant, and then one of another, which runs before the others are
// done. Workflows and activities wait in the queues of a real server.
func TestS22ATenantWithManyTurnsDoesNotDelayAnother(t *testing.T) {
	const many = 40
	c, err := client.Dial(client.Options{
		HostPort: testtemporal.Server(t, "--dynamic-config-value", "matching.enableFairness=true"), Namespace: "default",
		Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	d, err := dispatch.New(c, dispatch.Config{Namespace: "default"})
	if err != nil {
		t.Fatal(err)
	}
	start := func(tenant, turn string) {
		t.Helper()
		if err := d.Start(t.Context(), outbox.Turn{Tenant: tenant, TurnID: turn, SessionID: "ses_1", AgentID: "a"}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range many {
		start("noisy", fmt.Sprintf("trn_noisy_%d", i))
	}
	start("quiet", "trn_quiet")

	var mu sync.Mutex
	var order []string // tenants of activities, as they start
	w := worker.New(c, contract.TaskQueue, worker.Options{
		MaxConcurrentActivityExecutionSize: 1, MaxConcurrentWorkflowTaskExecutionSize: 2, MaxConcurrentWorkflowTaskPollers: 2,
		MaxConcurrentActivityTaskPollers: 1, DisableEagerActivities: true,
	})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context, in contract.TurnInput) error {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
		return workflow.ExecuteActivity(ctx, "note", in.Tenant).Get(ctx, nil)
	}, workflow.RegisterOptions{Name: contract.TurnWorkflow})
	w.RegisterActivityWithOptions(func(_ context.Context, tenant string) error {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, tenant)
		return nil
	}, activity.RegisterOptions{Name: "note"})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for _, turn := range []string{"trn_quiet", "trn_noisy_0", fmt.Sprintf("trn_noisy_%d", many-1)} {
		if err := c.GetWorkflow(t.Context(), turn, "").Get(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if at := slices.Index(order, "quiet"); at < 0 || at >= many/2 {
		t.Errorf("the quiet tenant came at place %d of %d: %v", at, len(order), order)
	}
}
