package harness

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/windlass-dev/windlass/internal/devserver"
	"github.com/windlass-dev/windlass/internal/embedded"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/ingest"
	"github.com/windlass-dev/windlass/workflows/schedule"
	"github.com/windlass-dev/windlass/workflows/temporal"
	"github.com/windlass-dev/windlass/workflows/temporal/historytest"
	"github.com/windlass-dev/windlass/workflows/turn"
)

// Replay waits until workflows of turns, of fires of schedules, or of versions of documents, have completed, and has each of their
// histories replayed by the code of this test.
func (m *Mesh) Replay(t testing.TB, turns ...string) {
	t.Helper()
	replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{DataConverter: codec(t, meshKey).DataConverter()})
	if err != nil {
		t.Fatal(err)
	}
	replayer.RegisterWorkflowWithOptions(turn.Turn, workflow.RegisterOptions{Name: contract.TurnWorkflow})
	replayer.RegisterWorkflowWithOptions(schedule.Fire, workflow.RegisterOptions{Name: contract.ScheduleWorkflow})
	replayer.RegisterWorkflowWithOptions(ingest.Ingest, workflow.RegisterOptions{Name: contract.IngestWorkflow})
	replayer.RegisterWorkflowWithOptions(ingest.Sync, workflow.RegisterOptions{Name: contract.SyncWorkflow})
	for id, h := range m.Histories(t, turns...) {
		if err := replayer.ReplayWorkflowHistoryWithOptions(nil, h, historytest.Original(h)); err != nil {
			t.Errorf("the history of %s: %v", id, err)
		}
	}
}

// Histories waits until workflows of turns, or of fires of schedules, have completed, and gives their histories by id.
func (m *Mesh) Histories(t testing.TB, turns ...string) map[string]*history.History {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c, err := temporal.Dial(ctx, temporal.Config{
		Address: m.addr(7233), TLS: temporalTLS(t, m.certificates()), Codec: codec(t, meshKey), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	out := map[string]*history.History{}
	for _, id := range turns {
		h, err := finishedHistory(ctx, c, id)
		if err != nil {
			t.Errorf("the history of %s: %v", id, err)
			continue
		}
		out[id] = h
	}
	return out
}

// codec decodes what meshes with a key store in Temporal.
func codec(t testing.TB, key string) *temporal.Codec {
	t.Helper()
	c, err := temporal.NewCodec(temporal.CodecConfig{Key: secret.New(key), AcceptClear: true})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Temporal connects to the server of the mesh, as the mesh itself does.
func (e *Embedded) Temporal(t testing.TB) client.Client {
	t.Helper()
	return e.temporal(t, func(dir string) *temporal.Codec {
		key, err := os.ReadFile(filepath.Join(dir, "mesh.key"))
		if err != nil {
			t.Fatal(err)
		}
		return codec(t, string(key))
	})
}

// RawTemporal is Temporal without a key: it reads what is stored.
func (e *Embedded) RawTemporal(t testing.TB) client.Client {
	t.Helper()
	return e.temporal(t, func(string) *temporal.Codec { return nil })
}

func (e *Embedded) temporal(t testing.TB, codec func(dir string) *temporal.Codec) client.Client {
	t.Helper()
	addr, _ := e.Ready["temporal"].(string)
	dir, _ := e.Ready["data_dir"].(string)
	c, err := temporal.Dial(t.Context(), temporal.Config{
		Address: addr, TLS: temporalTLS(t, devserver.InDir(filepath.Join(dir, embedded.CertificatesDir))), Codec: codec(dir),
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// closed reports whether a workflow has closed as its turn ended.
func closed(s enums.WorkflowExecutionStatus) bool {
	switch s {
	case enums.WORKFLOW_EXECUTION_STATUS_COMPLETED, enums.WORKFLOW_EXECUTION_STATUS_FAILED, enums.WORKFLOW_EXECUTION_STATUS_CANCELED:
		return true
	}
	return false
}

// finishedHistory waits for a workflow's end. It may be started long after its turn is over: the sweeper does that.
func finishedHistory(ctx context.Context, c client.Client, id string) (*history.History, error) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		d, err := c.DescribeWorkflow(ctx, id, "")
		if err == nil && closed(d.Status) {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if err == nil {
				err = ctx.Err()
			}
			return nil, err
		}
	}
	h := &history.History{}
	for it := c.GetWorkflowHistory(ctx, id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
		e, err := it.Next()
		if err != nil {
			return nil, err
		}
		h.Events = append(h.Events, e)
	}
	return h, nil
}
