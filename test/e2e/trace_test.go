package e2e

import (
	"strings"
	"testing"
	"time"

	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.temporal.io/api/enums/v1"
	tclient "go.temporal.io/sdk/client"

	"github.com/windlass-dev/windlass/test/harness"
)

// checkTree fails unless the spans make one tree whose root is the HTTP request, with no span twice.
func checkTree(t *testing.T, spans []harness.Span) {
	t.Helper()
	byID := map[string]harness.Span{}
	for _, s := range spans {
		if old, twice := byID[s.ID]; twice {
			t.Errorf("span %s came as %s and as %s", s.ID, old.Name, s.Name)
		}
		byID[s.ID] = s
	}
	roots := 0
	for _, s := range spans {
		switch _, known := byID[s.Parent]; {
		case s.Parent == "":
			roots++
			if s.Kind != tracev1.Span_SPAN_KIND_SERVER || !strings.Contains(s.Name, "POST") {
				t.Errorf("the root is %s (%s), not the HTTP request", s.Name, s.Kind)
			}
		case !known:
			t.Errorf("%s has a parent %s that is not in the trace", s.Name, s.Parent)
		}
	}
	if roots != 1 {
		t.Errorf("%d roots", roots)
	}
	if t.Failed() {
		t.Logf("the trace:\n%s", harness.Tree(spans))
	}
}

func count(spans []harness.Span, part string) int {
	n := 0
	for _, s := range spans {
		if strings.Contains(s.Name, part) {
			n++
		}
	}
	return n
}

func TestOneTraceFromTheRequestToTheTool(t *testing.T) {
	t.Parallel()
	collector := harness.NewCollector(t)
	up := harness.Up(t, t.TempDir(), []string{"WINDLASS_TELEMETRY_OTLP_ENDPOINT=" + collector.URL})
	turn := up.Client.Turn(up.Client.Session("assistant"), `call:calculator__evaluate {"expression":"17*23"} then say:done`)
	events := up.Client.Watch("/v1/turns/" + turn + "/events").End()
	up.Client.Wait(turn)
	if !harness.Eventually(time.Minute, func() bool { return up.WorkflowClosed(turn) }) {
		t.Fatal("the turn has ended and its workflow does not") // the run ahead of it may end the turn before it starts
	}
	joined := joins(t, up.Temporal(t), turn)
	if code := up.Stop(); code != 0 { // all spans are sent then
		t.Fatalf("a clean stop exits with %d", code)
	}
	spans := collector.Trace(events[0].TraceID)
	checkTree(t, spans)
	for part, want := range map[string]int{
		"StartWorkflow:Turn": 1, "RunWorkflow:Turn": 1, "EagerRun:Turn": 1, "RunActivity:JoinRun": joined,
		"chat ": 2, "tools/call": 1, "TurnService/CreateTurn": 2, "InferenceService/Generate": 4, "BridgeService/CallTool": 2,
	} {
		if n := count(spans, part); n != want {
			t.Errorf("%d spans %q, want %d", n, part, want)
		}
	}
	for _, e := range events {
		if e.TraceID != events[0].TraceID {
			t.Errorf("%s has trace %q, the first event %q", e.Type, e.TraceID, events[0].TraceID)
		}
	}
	if t.Failed() {
		t.Logf("the trace:\n%s", harness.Tree(spans))
	}
}

// joins returns 1 if a turn's workflow has joined its eager run, and 0 if it has run no activity: the turn was over before it began.
func joins(t *testing.T, tc tclient.Client, turn string) int {
	t.Helper()
	for events := tc.GetWorkflowHistory(t.Context(), turn, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		e, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e.GetMarkerRecordedEventAttributes().GetMarkerName() == "LocalActivity" {
			return 1
		}
	}
	return 0
}

// A worker that goes on replays the workflow; what was done is not told again.
func TestReplayRepeatsNoSpan(t *testing.T) {
	t.Parallel()
	collector := harness.NewCollector(t)
	model, steps := stepper(t, 3)
	m := harness.Split(t, harness.SplitOptions{
		Model:  model,
		Config: harness.JSON{"telemetry": harness.JSON{"otlp_endpoint": collector.URL}, "worker": harness.JSON{"drain_time": "1s"}},
	})
	m.Client.Must("POST", "/v1/agents", harness.JSON{"id": "a"})
	turn := m.Client.Turn(m.Client.Session("a"), "count")
	w := m.Client.Watch("/v1/turns/" + turn + "/events")
	w.Until("the first word", has("w1"))
	if code := m.Process("worker-1").Stop(); code != 0 {
		t.Errorf("the worker's clean stop exits with %d", code)
	}
	m.Start("worker-1")
	close(steps)
	m.Client.Wait(turn)
	events := w.End()
	harness.CheckStream(t, events)
	until(t, "the workflow is over", func() bool { return m.WorkflowClosed(turn) }) // its span ends with it
	for _, name := range []string{"worker-1", "gateway", "sessions", "inference", "registry", "policy"} {
		if code := m.Process(name).Stop(); code != 0 {
			t.Errorf("the clean stop of %s exits with %d", name, code)
		}
	}
	spans := collector.Trace(events[0].TraceID)
	checkTree(t, spans)
	// The worker that goes on does so in another eager run, or in the workflow's activity if that claims the step first.
	for part, want := range map[string]int{"StartWorkflow:Turn": 1, "RunWorkflow:Turn": 1, "chat ": 2} {
		if n := count(spans, part); n != want {
			t.Errorf("%d spans %q, want %d", n, part, want)
		}
	}
	if t.Failed() {
		t.Logf("the trace:\n%s", harness.Tree(spans))
	}
}
