package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"
)

func TestReadyServerHasNamespaceAttributesAndUI(t *testing.T) {
	t.Parallel()
	c := start(t, "--db-filename", dbFile(t), "--search-attribute", "Extra=Int")
	if c.ready.PID != c.cmd.Process.Pid {
		t.Errorf("ready line has pid %d, the process %d", c.ready.PID, c.cmd.Process.Pid)
	}
	ns, err := c.frontend(t).DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: "default"})
	if err != nil {
		t.Fatal(err)
	}
	if got := ns.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration(); got != 30*24*time.Hour {
		t.Errorf("histories of ended turns are kept for %s", got)
	}
	if caps := ns.GetNamespaceInfo().GetCapabilities(); !caps.GetEagerWorkflowStart() || !caps.GetAsyncUpdate() {
		t.Errorf("capabilities %v", caps)
	}
	assertAttributes(t, c, map[string]enumspb.IndexedValueType{"Extra": enumspb.INDEXED_VALUE_TYPE_INT})
	for _, path := range []string{"/", "/namespaces/default/workflows", "/api/v1/namespaces", "/api/v1/settings"} {
		if body := get(t, c.ready.UI+path); path == "/api/v1/namespaces" && !strings.Contains(body, `"default"`) {
			t.Errorf("no default namespace in %s", body)
		}
	}
	c.signal(t, syscall.SIGTERM)
	if code := c.end(t); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	if line, more := <-c.lines; more {
		t.Errorf("a second line on stdout: %q", line)
	}
	if text := c.stderr.String(); text != "" {
		t.Errorf("a quiet run logged:\n%s", text)
	}
}

// assertAttributes checks Windlass's attributes and the given ones.
func assertAttributes(t *testing.T, c *child, more map[string]enumspb.IndexedValueType) {
	t.Helper()
	got, err := operatorservice.NewOperatorServiceClient(c.conn(t)).ListSearchAttributes(t.Context(),
		&operatorservice.ListSearchAttributesRequest{Namespace: "default"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []map[string]enumspb.IndexedValueType{windlassAttributes, more} {
		for name, kind := range want {
			if got.GetCustomAttributes()[name] != kind {
				t.Errorf("search attribute %s is %s, not %s", name, got.GetCustomAttributes()[name], kind)
			}
		}
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || len(body) == 0 {
		t.Fatalf("GET %s: %s, %d bytes, %v", url, resp.Status, len(body), err)
	}
	return string(body)
}

func TestWorkflowSurvivesKill(t *testing.T) {
	t.Parallel()
	file := dbFile(t)
	first := start(t, "--db-filename", file, "--headless")
	if first.ready.UI != "" {
		t.Errorf("headless, but a UI at %s", first.ready.UI)
	}
	started, err := first.frontend(t).StartWorkflowExecution(t.Context(), startRequest(t, "survivor"))
	if err != nil {
		t.Fatal(err)
	}
	first.signal(t, syscall.SIGKILL)
	first.end(t)

	// A restart may also add attributes that the file lacks.
	second := start(t, "--db-filename", file, "--headless", "--search-attribute", "Later=Keyword")
	got, err := second.frontend(t).DescribeWorkflowExecution(t.Context(), &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: "default", Execution: &commonpb.WorkflowExecution{WorkflowId: "survivor"},
	})
	if err != nil {
		t.Fatal(err)
	}
	info := got.GetWorkflowExecutionInfo()
	if info.GetExecution().GetRunId() != started.GetRunId() || info.GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		t.Errorf("after the restart: %v", info)
	}
	assertAttributes(t, second, map[string]enumspb.IndexedValueType{"Later": enumspb.INDEXED_VALUE_TYPE_KEYWORD})
	request := startRequest(t, "tagged")
	request.SearchAttributes = &commonpb.SearchAttributes{IndexedFields: map[string]*commonpb.Payload{
		"Later": {Metadata: map[string][]byte{"encoding": []byte("json/plain"), "type": []byte("Keyword")}, Data: []byte(`"x"`)},
	}}
	if _, err := second.frontend(t).StartWorkflowExecution(t.Context(), request); err != nil {
		t.Errorf("start with an attribute added to an old file: %v", err)
	}
	waitListed(t, second, `Later = "x"`, "tagged")
}

// waitListed waits until a visibility query finds the workflow: the store is written after the start is answered.
func waitListed(t *testing.T, c *child, query, id string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(probeEvery) // polling another process: there is nothing to wait on
	defer tick.Stop()
	for ; ; <-tick.C {
		got, err := c.frontend(t).ListWorkflowExecutions(ctx,
			&workflowservice.ListWorkflowExecutionsRequest{Namespace: "default", Query: query})
		if err != nil {
			t.Fatalf("list %s: %v", query, err)
		}
		if len(got.GetExecutions()) == 1 && got.GetExecutions()[0].GetExecution().GetWorkflowId() == id {
			return
		}
	}
}

func startRequest(t *testing.T, id string) *workflowservice.StartWorkflowExecutionRequest {
	return &workflowservice.StartWorkflowExecutionRequest{
		Namespace:    "default",
		WorkflowId:   id,
		WorkflowType: &commonpb.WorkflowType{Name: "Nothing"},
		TaskQueue:    &taskqueuepb.TaskQueue{Name: "nobody"},
		RequestId:    t.Name() + id,
	}
}

func TestParentGoneEndsTheServerAtOnce(t *testing.T) {
	t.Parallel()
	file := dbFile(t)
	c := start(t, "--db-filename", file, "--headless", "--exit-with-parent")
	if _, err := c.frontend(t).StartWorkflowExecution(t.Context(), startRequest(t, "one")); err != nil {
		t.Fatal(err)
	}
	_ = c.stdin.Close() // as when the parent is killed
	if code := c.end(t); code != exitOK {
		t.Fatalf("exit code %d:\n%s", code, c.stderr)
	}
	again := start(t, "--db-filename", file, "--headless")
	if _, err := again.frontend(t).DescribeWorkflowExecution(t.Context(), &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: "default", Execution: &commonpb.WorkflowExecution{WorkflowId: "one"},
	}); err != nil {
		t.Errorf("the workflow is gone after the parent's death: %v", err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("file mode %v, %v", info.Mode(), err)
	}
}

func TestTakenInternalPortIsRetried(t *testing.T) {
	t.Parallel()
	c := launch(t, takePort(t), "--db-filename", dbFile(t), "--headless")
	c.waitReady(t)
	if c.ready.PID != c.cmd.Process.Pid {
		t.Errorf("the pid changed from %d to %d", c.cmd.Process.Pid, c.ready.PID)
	}
}

// The test suite of Temporal's SDK passes none of our flags and no file, and gets a server in memory.
func TestStartedBySDKTestSuite(t *testing.T) {
	t.Setenv(childEnv, "")
	srv, err := testsuite.StartDevServer(t.Context(), testsuite.DevServerOptions{
		ExistingPath:  os.Args[0],
		ClientOptions: &client.Options{Namespace: "other", Logger: silence{}},
		LogLevel:      "warn",
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = srv.Client().ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: "nobody"}, "Nothing")
	if err := errors.Join(err, srv.Stop()); err != nil {
		t.Error(err)
	}
}

func TestVersionFlag(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := program{stdout: &out, stderr: io.Discard}
	if code := p.execute([]string{"--version"}); code != exitOK || !strings.HasPrefix(out.String(), "windlass-temporal ") {
		t.Errorf("exit code %d, printed %q", code, &out)
	}
}
