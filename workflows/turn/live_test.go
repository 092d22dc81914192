package turn_test

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	sdktemporal "go.temporal.io/sdk/temporal"

	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testtemporal"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/temporal"
	"github.com/windlass-dev/windlass/workflows/turn"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

// update rewrites the histories that TestHistoriesReplay replays.
var update = flag.Bool("update", false, "write testdata/histories from the real server")

func TestMain(m *testing.M) {
	if env := os.Getenv(workerEnv); env != "" {
		if err := beWorker(env); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	testmain.Verify(m)
}

// live is a real Temporal server with one worker on a test mesh.
type live struct {
	*turntest.Mesh
	t      testing.TB
	client client.Client
	worker *turn.Worker
	// parkAfter is what turns are begun with.
	parkAfter time.Duration
}

// newLive starts the dev server and a worker. Without the dev server's program the test is skipped; `make test` always has it.
func newLive(t testing.TB, mesh *turntest.Mesh) *live {
	t.Helper()
	return newLiveAs(t, mesh, turn.Config{ID: "worker-1"})
}

// newEager is newLive with a worker whose workflows wait long enough for the eager runs of their turns, however busy the machine is.
func newEager(t testing.TB, mesh *turntest.Mesh) *live {
	t.Helper()
	return newLiveAs(t, mesh, turn.Config{ID: "worker-1", JoinTime: 9 * time.Second})
}

func newLiveAs(t testing.TB, mesh *turntest.Mesh, cfg turn.Config) *live {
	t.Helper()
	l := &live{Mesh: mesh, t: t}
	l.client = dial(t, testtemporal.Server(t))
	l.worker = l.startAs(cfg)
	return l
}

func dial(t testing.TB, address string) client.Client {
	t.Helper()
	c, err := temporal.Dial(t.Context(), temporal.Config{Address: address, Identity: "test", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// start has one more worker poll until the test ends.
func (l *live) start(id string, drain time.Duration) *turn.Worker {
	l.t.Helper()
	return l.startAs(turn.Config{ID: id, DrainTime: drain})
}

func (l *live) startAs(cfg turn.Config) *turn.Worker {
	l.t.Helper()
	d := l.Deps()
	w, err := turn.NewWorker(cfg, turn.Deps{
		Client: l.client, Sessions: d.Sessions, Tools: d.Tools, Inference: d.Inference, Shields: d.Shields, Bus: d.Bus, Log: d.Log,
	})
	if err != nil {
		l.t.Fatal(err)
	}
	if err := w.Start(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { l.stop(w) })
	return w
}

func (l *live) stop(w *turn.Worker) {
	l.t.Helper()
	if err := w.Stop(l.t.Context()); err != nil && l.t.Context().Err() == nil {
		l.t.Errorf("stop worker: %v", err)
	}
}

// begin starts a turn as the sessions service does.
func (l *live) begin(turnID string, agent *sessionsv1.Agent) client.WorkflowRun {
	l.t.Helper()
	options, in := l.order(turnID)
	l.Journal.Add(in, agent, "hello")
	run, err := l.client.ExecuteWorkflow(l.t.Context(), options, contract.TurnWorkflow, in)
	if err != nil {
		l.t.Fatal(err)
	}
	return run
}

// order is how the sessions service starts a turn.
func (l *live) order(turnID string) (client.StartWorkflowOptions, contract.TurnInput) {
	in := contract.TurnInput{
		Tenant: "default", TurnID: turnID, SessionID: "ses_1", AgentID: "helper", ParkAfter: contract.Duration(l.parkAfter),
	}
	keyword := sdktemporal.NewSearchAttributeKeyKeyword
	return client.StartWorkflowOptions{
		ID: turnID, TaskQueue: contract.TaskQueue, WorkflowTaskTimeout: contract.TaskTimeout,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE, StaticSummary: "agent helper, session ses_1",
		TypedSearchAttributes: sdktemporal.NewSearchAttributes(
			keyword(contract.AttributeAgent).ValueSet(in.AgentID), keyword(contract.AttributeSession).ValueSet(in.SessionID),
			keyword(contract.AttributeStatus).ValueSet(contract.StatusRunning), keyword(contract.AttributeTenant).ValueSet(in.Tenant),
		),
	}, in
}

// end waits for a turn's result.
func (l *live) end(run client.WorkflowRun) contract.TurnResult {
	l.t.Helper()
	var r contract.TurnResult
	err := run.Get(l.t.Context(), &r)
	if err == nil {
		if r.Status != contract.StatusCompleted {
			l.t.Errorf("turn %s was %s, its workflow completed", run.GetID(), r.Status)
		}
		return r
	}
	failed, isFailed := errors.AsType[*sdktemporal.ApplicationError](err)
	cancelled, isCancelled := errors.AsType[*sdktemporal.CanceledError](err)
	want := contract.StatusFailed
	switch {
	case isFailed:
		err = failed.Details(&r)
		if failed.Type() != r.ErrorCode {
			l.t.Errorf("turn %s: type %q, code %q", run.GetID(), failed.Type(), r.ErrorCode)
		}
	case isCancelled:
		want, err = contract.StatusCancelled, cancelled.Details(&r)
	}
	if err != nil || r.Status != want {
		l.t.Fatalf("turn %s: %+v, %v", run.GetID(), r, err)
	}
	return r
}

// figures are what a summary says of the duration of a step or wait.
var figures = regexp.MustCompile(` \((?:[^ ]+ since \d\d:\d\d:\d\d\.\d\d\d(?:, attempt \d+ on [^)]+)?|after [^)]+)\)`)

// wantSummaries checks the summaries of a history's events, as JSON strings, without their figures. Every step that a worker ran has some.
func wantSummaries(t *testing.T, h *history.History, want ...string) {
	t.Helper()
	var plain []string
	for _, e := range h.GetEvents() {
		s := e.GetUserMetadata().GetSummary()
		if s == nil {
			continue
		}
		text := string(s.GetData())
		ran := strings.HasPrefix(text, `"begin`) || strings.HasPrefix(text, `"infer`) || strings.HasPrefix(text, `"tool`)
		if ran && strings.Contains(text, " → ") && e.GetMarkerRecordedEventAttributes() != nil && !figures.MatchString(text) {
			t.Errorf("no duration in %s", text)
		}
		plain = append(plain, figures.ReplaceAllString(text, ""))
	}
	for _, w := range want {
		if !slices.Contains(plain, w) {
			t.Errorf("no summary %s in %v", w, plain)
		}
	}
}

// history reads a turn's history.
func (l *live) history(run client.WorkflowRun) *history.History {
	l.t.Helper()
	h := &history.History{}
	iter := l.client.GetWorkflowHistory(l.t.Context(), run.GetID(), run.GetRunID(), false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for iter.HasNext() {
		e, err := iter.Next()
		if err != nil {
			l.t.Fatal(err)
		}
		h.Events = append(h.Events, e)
	}
	return h
}
