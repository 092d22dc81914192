package ingest

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	sdktemporal "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/windlass-dev/windlass/libs/testtemporal"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/temporal"
	"github.com/windlass-dev/windlass/workflows/temporal/historytest"
)

// histories has one history for each shape of the workflow.
const histories = "testdata/histories"

// update rewrites the histories that TestHistoriesReplay replays.
var update = flag.Bool("update", false, "write the histories of workflows into "+histories)

// knowledge is the knowledge service; the first calls fail, and with wait a call ends when its context does.
type knowledge struct {
	knowledgev1.IngestionServiceClient
	failures int
	wait     bool
	called   chan struct{}

	mu  sync.Mutex
	got []*knowledgev1.IngestVersionRequest
}

func (k *knowledge) IngestVersion(ctx context.Context, req *knowledgev1.IngestVersionRequest,
	_ ...grpc.CallOption,
) (*knowledgev1.IngestVersionResponse, error) {
	k.mu.Lock()
	k.got = append(k.got, req)
	failed := len(k.got) <= k.failures
	k.mu.Unlock()
	if k.called != nil {
		k.called <- struct{}{}
	}
	if k.wait {
		<-ctx.Done()
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	if failed {
		return nil, status.Error(codes.Unavailable, "knowledge is away")
	}
	return &knowledgev1.IngestVersionResponse{Outcome: knowledgev1.IngestionOutcome_INGESTION_OUTCOME_READY}, nil
}

func (k *knowledge) RunSync(ctx context.Context, req *knowledgev1.RunSyncRequest,
	_ ...grpc.CallOption,
) (*knowledgev1.RunSyncResponse, error) {
	_, err := k.IngestVersion(ctx, &knowledgev1.IngestVersionRequest{Tenant: req.GetTenant(), Version: req.GetSync()})
	if err != nil {
		return nil, err
	}
	return &knowledgev1.RunSyncResponse{Outcome: knowledgev1.SyncOutcome_SYNC_OUTCOME_SYNCED}, nil
}

func (k *knowledge) calls() []*knowledgev1.IngestVersionRequest {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.got
}

// environment is a test environment for the workflow with an id.
func environment(t *testing.T, id string, k *knowledge) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute}) // a busy machine is no deadlock
	env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: id})
	if err := Register(env, k, time.Second); err != nil {
		t.Fatal(err)
	}
	return env
}

func TestIngestRepeatsTheCallUntilThereIsAnOutcome(t *testing.T) {
	k := &knowledge{failures: 3}
	env := environment(t, "ver_1", k)
	env.ExecuteWorkflow(contract.IngestWorkflow, contract.IngestInput{Tenant: "default", Version: "ver_1"})
	var out contract.IngestResult
	if err := env.GetWorkflowResult(&out); err != nil || out.Outcome != "ready" {
		t.Errorf("result %v, %v", out, err)
	}
	got := k.calls()
	if last := got[len(got)-1]; len(got) != 4 || last.GetVersion() != "ver_1" || last.GetTenant() != "default" {
		t.Errorf("%d calls, the last %v", len(got), last)
	}
}

// TestAForeignWorkflowIngestsNothing: an input that was copied does nothing under another name.
func TestAForeignWorkflowIngestsNothing(t *testing.T) {
	k := &knowledge{}
	env := environment(t, "ver_2", k)
	env.ExecuteWorkflow(contract.IngestWorkflow, contract.IngestInput{Tenant: "default", Version: "ver_1"})
	err, ok := errors.AsType[*sdktemporal.ApplicationError](env.GetWorkflowError())
	if !ok || err.Type() != typeForeign || len(k.calls()) != 0 {
		t.Errorf("calls %v, %v", k.calls(), env.GetWorkflowError())
	}
}

func TestSyncRepeatsTheCallUntilThereIsAnOutcome(t *testing.T) {
	k := &knowledge{failures: 3}
	env := environment(t, "syn_1", k)
	env.ExecuteWorkflow(contract.SyncWorkflow, contract.SyncInput{Tenant: "default", Sync: "syn_1"})
	var out contract.SyncResult
	if err := env.GetWorkflowResult(&out); err != nil || out.Outcome != "synced" || len(k.calls()) != 4 {
		t.Errorf("result %v, %v after %d calls", out, err, len(k.calls()))
	}
	foreign := environment(t, "syn_2", k)
	foreign.ExecuteWorkflow(contract.SyncWorkflow, contract.SyncInput{Tenant: "default", Sync: "syn_1"})
	err, ok := errors.AsType[*sdktemporal.ApplicationError](foreign.GetWorkflowError())
	if !ok || err.Type() != typeForeign || len(k.calls()) != 4 {
		t.Errorf("a foreign workflow: %d calls, %v", len(k.calls()), foreign.GetWorkflowError())
	}
}

func TestRegisterNeedsAClient(t *testing.T) {
	if err := Register(nil, nil, 0); err == nil {
		t.Error("nothing was registered without an error")
	}
}

// TestHistoriesReplay: a changed workflow must be able to continue what its predecessors began. TestAgainstTemporal makes the histories.
func TestHistoriesReplay(t *testing.T) {
	historytest.Replay(t, histories, func(r worker.WorkflowReplayer) {
		r.RegisterWorkflowWithOptions(Ingest, workflow.RegisterOptions{Name: contract.IngestWorkflow})
		r.RegisterWorkflowWithOptions(Sync, workflow.RegisterOptions{Name: contract.SyncWorkflow})
	})
}

// TestAgainstTemporal runs the workflow with a real server: it repeats calls, ends with a cancel, and continues after its worker stopped.
func TestAgainstTemporal(t *testing.T) {
	t.Parallel()
	c, err := temporal.Dial(t.Context(), temporal.Config{Address: testtemporal.Server(t), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	t.Run("ready after a repeated call", func(t *testing.T) {
		work(t, c, &knowledge{failures: 1})
		run := start(t, c, "ver_repeated")
		var out contract.IngestResult
		if err := run.Get(t.Context(), &out); err != nil || out.Outcome != "ready" {
			t.Errorf("result %v, %v", out, err)
		}
		keep(t, c, run, "repeated")
	})
	t.Run("a sync after a repeated call", func(t *testing.T) {
		work(t, c, &knowledge{failures: 1})
		run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "syn_repeated", TaskQueue: contract.TaskQueue},
			contract.SyncWorkflow, contract.SyncInput{Tenant: "default", Sync: "syn_repeated"})
		if err != nil {
			t.Fatal(err)
		}
		var out contract.SyncResult
		if err := run.Get(t.Context(), &out); err != nil || out.Outcome != "synced" {
			t.Errorf("result %v, %v", out, err)
		}
		keep(t, c, run, "synced")
	})
	t.Run("a cancel stops the call", func(t *testing.T) {
		k := &knowledge{wait: true, called: make(chan struct{}, 1)}
		work(t, c, k)
		run := start(t, c, "ver_cancelled")
		<-k.called
		if err := c.CancelWorkflow(t.Context(), run.GetID(), ""); err != nil {
			t.Fatal(err)
		}
		if err := run.Get(t.Context(), nil); !sdktemporal.IsCanceledError(err) {
			t.Errorf("ended with %v", err)
		}
		keep(t, c, run, "cancelled")
	})
	t.Run("another worker continues after a stop", func(t *testing.T) {
		k := &knowledge{wait: true, called: make(chan struct{}, 1)}
		stop := work(t, c, k)
		run := start(t, c, "ver_moved")
		<-k.called
		stop()
		work(t, c, &knowledge{})
		var out contract.IngestResult
		if err := run.Get(t.Context(), &out); err != nil || out.Outcome != "ready" {
			t.Errorf("result %v, %v", out, err)
		}
		keep(t, c, run, "moved")
	})
}

// work starts a worker that stops with the test, or when the returned function is called.
func work(t *testing.T, c client.Client, k *knowledge) (stop func()) {
	t.Helper()
	w := worker.New(c, contract.TaskQueue, worker.Options{
		WorkerStopTimeout: 5 * time.Second, MaxHeartbeatThrottleInterval: heartbeatInterval, DisableRegistrationAliasing: true,
		DeadlockDetectionTimeout: time.Minute,
	})
	if err := Register(w, k, 10*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(w.Stop)
	t.Cleanup(stop)
	return stop
}

func start(t *testing.T, c client.Client, version string) client.WorkflowRun {
	t.Helper()
	in := contract.IngestInput{Tenant: "default", Version: version}
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: version, TaskQueue: contract.TaskQueue},
		contract.IngestWorkflow, in)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// keep keeps a history with -update.
func keep(t *testing.T, c client.Client, run client.WorkflowRun, name string) {
	t.Helper()
	h := &history.History{}
	for it := c.GetWorkflowHistory(t.Context(), run.GetID(), run.GetRunID(), false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
		event, err := it.Next()
		if err != nil {
			t.Fatal(err)
		}
		h.Events = append(h.Events, event)
	}
	if *update && !t.Failed() {
		historytest.Write(t, histories, name, h)
	}
}
