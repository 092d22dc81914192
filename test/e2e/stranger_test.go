package e2e_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/windlass-dev/windlass/internal/devserver"
	"github.com/windlass-dev/windlass/libs/meshtls"
	"github.com/windlass-dev/windlass/libs/peercred/peercredtest"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/test/harness"
)

// strangerEnv holds the target of the process of another account.
const strangerEnv = "WINDLASS_TEST_STRANGER"

// target is a running `windlass up` as the other account sees it.
type target struct {
	// Ports are all TCP addresses at which its processes listen; Temporal are those of the Temporal server among them.
	Ports, Temporal []string
	// Sockets are its unix sockets, Files the files of its data directory.
	Sockets, Files []string
	// Turn is the id of a turn, whose workflow runs.
	Turn string
	// PIDs are its processes.
	PIDs []int
}

// TestS20StrangersAtEveryPort: another account of the machine, with every port at hand, learns nothing and changes nothing.
func TestS20StrangersAtEveryPort(t *testing.T) {
	t.Parallel()
	up := harness.Up(t, filepath.Join(t.TempDir(), "data"), []string{"WINDLASS_INFERENCE_DETECT=false"})
	c := up.Client
	c.Must("POST", "/v1/agents", harness.JSON{
		"id": "careful", "model": "builtin/scripted", "tools": []string{"mesh__uuid"},
		"approvals": []harness.JSON{{"name": "always", "tools": []string{"mesh__uuid"}, "reason": "look"}},
	})
	turn := c.Turn(c.Session("careful"), "call:mesh__uuid {} then say:done")
	waitForWorkflow(t, up, turn)
	at := target{Turn: turn, PIDs: []int{up.PID(), int(up.Ready["temporal_pid"].(float64))}}
	at.Ports, at.Temporal, at.Sockets = listeners(t, at.PIDs...), listeners(t, at.PIDs[1]), unixSockets(t, at.PIDs...)
	at.Files = files(t, up.DataDir)
	for _, wants := range []string{
		text(up.Process, "temporal"), text(up.Process, "grpc"), addressOf(c.Base), addressOf(text(up.Process, "temporal_ui")),
	} {
		if !slices.Contains(at.Ports, wants) {
			t.Fatalf("%s is not among the ports %v", wants, at.Ports)
		}
	}
	if len(at.Temporal) < 5 {
		t.Fatalf("Temporal listens at %v: want frontend, history, matching, worker and UI", at.Temporal)
	}
	before := workflows(t, up)

	raw, err := json.Marshal(at)
	if err != nil {
		t.Fatal(err)
	}
	other := peercredtest.Other(t, "TestCallAsStranger", strangerEnv+"="+string(raw))
	if out, err := other.CombinedOutput(); err != nil {
		t.Errorf("another account: %v\n%s", err, out)
	}
	if after := workflows(t, up); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("workflows before: %v\nafter: %v", before, after)
	}
	if now := c.Must("GET", "/v1/turns/"+turn, nil); now.Str("status") != "waiting" {
		t.Errorf("the turn is %v", now)
	}
	up.UI().Must("GET", "/api/v1/namespaces/default/workflows", nil) // its own user is served
	secretsAreKept(t, up)
}

// secretsAreKept checks the modes of the private files, and that no private key is in an argument, a variable or the log.
func secretsAreKept(t *testing.T, up *harness.Embedded) {
	t.Helper()
	private := []string{"mesh.key", "temporal/server.pem", "temporal/client.pem"}
	for _, name := range private {
		info, err := os.Stat(filepath.Join(up.DataDir, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
			continue
		}
		text, err := os.ReadFile(filepath.Join(up.DataDir, name))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		inner := lines[len(lines)/2]
		if name != "mesh.key" {
			inner = lines[len(lines)-2] // of the key, which is last
		}
		for _, pid := range []int{up.PID(), int(up.Ready["temporal_pid"].(float64))} {
			for _, file := range []string{"cmdline", "environ"} {
				shown, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
				if err != nil || strings.Contains(string(shown), inner) {
					t.Errorf("%s is in %s of process %d, or it cannot be read: %v", name, file, pid, err)
				}
			}
		}
		if strings.Contains(up.Log(), inner) {
			t.Errorf("%s is in the log", name)
		}
	}
}

// TestCallAsStranger is the process of another account.
func TestCallAsStranger(t *testing.T) {
	if os.Getenv(strangerEnv) == "" {
		t.Skip("a part of TestS20StrangersAtEveryPort")
	}
	var at target
	if err := json.Unmarshal([]byte(os.Getenv(strangerEnv)), &at); err != nil {
		t.Fatal(err)
	}
	for _, addr := range at.Ports {
		t.Run(addr, func(t *testing.T) {
			for name, as := range strangers(t) {
				callTemporal(t, addr, name, as, at.Turn, slices.Contains(at.Temporal, addr))
			}
			browse(t, addr)
		})
	}
	for _, path := range at.Sockets {
		if conn, err := net.Dial("unix", path); err == nil {
			_ = conn.Close()
			t.Errorf("connected to %s", path)
		}
	}
	for _, path := range at.Files {
		if _, err := os.ReadFile(path); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("read %s: %v", path, err)
		}
	}
	for _, pid := range at.PIDs {
		if _, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); err == nil {
			t.Errorf("read the environment of process %d", pid)
		}
	}
}

// strangers are the ways of a client without a key of the mesh: in clear text, without a certificate, and with one of its own making.
func strangers(t *testing.T) map[string]credentials.TransportCredentials {
	t.Helper()
	own, err := devserver.Issue(t.TempDir(), secret.New("a key that is not that of the mesh, long enough"))
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(own.Client, own.Client)
	if err != nil {
		t.Fatal(err)
	}
	derived, err := meshtls.FromKey([]byte("a key that is not that of the mesh, long enough"), "worker")
	if err != nil {
		t.Fatal(err)
	}
	member, err := derived.Certificate()
	if err != nil {
		t.Fatal(err)
	}
	open := func(certs ...tls.Certificate) credentials.TransportCredentials {
		return credentials.NewTLS(&tls.Config{InsecureSkipVerify: true, Certificates: certs, MinVersion: tls.VersionTLS12})
	}
	return map[string]credentials.TransportCredentials{
		"in clear text": insecure.NewCredentials(), "without a certificate": open(), "with a certificate of its own": open(pair),
		"as a worker of another mesh": open(*member),
	}
}

// callTemporal tries what the SDK and the server's parts call, and expects nothing.
func callTemporal(t *testing.T, addr, name string, as credentials.TransportCredentials, turn string, isTemporal bool) {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(as))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	api, queue := workflowservice.NewWorkflowServiceClient(conn), &taskqueuepb.TaskQueue{Name: "windlass-turns"}
	execution := &commonpb.WorkflowExecution{WorkflowId: turn}
	invoke := func(method string) error { return conn.Invoke(ctx, method, &emptypb.Empty{}, &emptypb.Empty{}) }
	for call, do := range map[string]func() error{
		"info": func() error { _, err := api.GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{}); return err },
		"list": func() error {
			_, err := api.ListWorkflowExecutions(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: "default"})
			return err
		},
		"schedules": func() error {
			_, err := api.ListSchedules(ctx, &workflowservice.ListSchedulesRequest{Namespace: "default"})
			return err
		},
		"start": func() error {
			_, err := api.StartWorkflowExecution(ctx, &workflowservice.StartWorkflowExecutionRequest{
				Namespace: "default", WorkflowId: "strange", WorkflowType: &commonpb.WorkflowType{Name: "Turn"}, TaskQueue: queue, RequestId: "r",
			})
			return err
		},
		"signal": func() error {
			_, err := api.SignalWorkflowExecution(ctx, &workflowservice.SignalWorkflowExecutionRequest{
				Namespace: "default", WorkflowExecution: execution, SignalName: "wake",
			})
			return err
		},
		"cancel": func() error {
			_, err := api.RequestCancelWorkflowExecution(ctx, &workflowservice.RequestCancelWorkflowExecutionRequest{
				Namespace: "default", WorkflowExecution: execution,
			})
			return err
		},
		"terminate": func() error {
			_, err := api.TerminateWorkflowExecution(ctx, &workflowservice.TerminateWorkflowExecutionRequest{
				Namespace: "default", WorkflowExecution: execution,
			})
			return err
		},
		"poll": func() error {
			_, err := api.PollWorkflowTaskQueue(ctx, &workflowservice.PollWorkflowTaskQueueRequest{Namespace: "default", TaskQueue: queue})
			return err
		},
		"history": func() error { return invoke("/temporal.server.api.historyservice.v1.HistoryService/GetShard") },
		"matching": func() error {
			return invoke("/temporal.server.api.matchingservice.v1.MatchingService/ListTaskQueuePartitions")
		},
		"admin":  func() error { return invoke("/temporal.server.api.adminservice.v1.AdminService/DescribeCluster") },
		"health": func() error { return invoke("/grpc.health.v1.Health/Check") },
	} {
		got := status.Code(do())
		switch {
		case got == codes.Unavailable:
		case !isTemporal && (got == codes.Unimplemented || got == codes.Unauthenticated || got == codes.PermissionDenied || call == "health"):
		default:
			t.Errorf("%s, %s: %s", name, call, got)
		}
	}
}

// browse requests pages that show something, as a program and as pages of other origins do.
func browse(t *testing.T, addr string) {
	t.Helper()
	client := &http.Client{
		Timeout:   30 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}},
	}
	defer client.CloseIdleConnections()
	for _, scheme := range []string{"http", "https"} {
		for _, path := range []string{"/v1/sessions", "/metrics", "/namespaces/default/workflows", "/api/v1/namespaces/default/workflows"} {
			for _, from := range []struct{ host, origin string }{{}, {host: "rebind.example"}, {origin: "https://evil.example"}, {origin: "null"}} {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, scheme+"://"+addr+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				req.Host = from.host
				if from.origin != "" {
					req.Header.Set("Origin", from.origin)
				}
				resp, err := client.Do(req)
				if err != nil {
					continue // it is no HTTP server, or one that wants a certificate
				}
				_ = resp.Body.Close()
				if resp.StatusCode < http.StatusBadRequest {
					t.Errorf("%s%s with host %q and origin %q: %d", scheme, path, from.host, from.origin, resp.StatusCode)
				}
			}
		}
	}
}

// waitForWorkflow waits until the workflow of a turn is running.
func waitForWorkflow(t *testing.T, up *harness.Embedded, turn string) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		now := up.Client.Must("GET", "/v1/turns/"+turn, nil)
		if now.Str("status") == "waiting" && slices.Contains(workflows(t, up), turn+" Running") {
			return
		}
	}
}

// workflows lists the mesh's workflows with their statuses.
func workflows(t *testing.T, up *harness.Embedded) []string {
	t.Helper()
	got, err := up.Temporal(t).ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, w := range got.GetExecutions() {
		out = append(out, w.GetExecution().GetWorkflowId()+" "+w.GetStatus().String())
	}
	slices.Sort(out)
	return out
}

func addressOf(url string) string {
	_, addr, _ := strings.Cut(url, "://")
	return addr
}

// files lists the files below a folder.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			out = append(out, path)
		}
		return err
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("files of %s: %v, %v", dir, out, err)
	}
	return out
}

// sockets returns the inodes of the sockets of processes.
func sockets(t *testing.T, pids ...int) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, pid := range pids {
		dir := fmt.Sprintf("/proc/%d/fd", pid)
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			to, err := os.Readlink(filepath.Join(dir, e.Name()))
			if inode, ok := strings.CutPrefix(to, "socket:["); err == nil && ok {
				out[strings.TrimSuffix(inode, "]")] = true
			}
		}
	}
	return out
}

// listeners returns the TCP addresses at which processes listen.
func listeners(t *testing.T, pids ...int) []string {
	t.Helper()
	const listen = "0A"
	own := sockets(t, pids...)
	var out []string
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		raw, err := os.ReadFile(table)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			f := strings.Fields(line)
			if len(f) < 10 || f[3] != listen || !own[f[9]] {
				continue
			}
			host, text, _ := strings.Cut(f[1], ":")
			port, err := strconv.ParseUint(text, 16, 16)
			if err != nil || host != "0100007F" {
				t.Fatalf("a port that is not on 127.0.0.1: %s", line)
			}
			out = append(out, net.JoinHostPort("127.0.0.1", strconv.FormatUint(port, 10)))
		}
	}
	return out
}

// unixSockets returns the unix sockets at which processes listen, if they have names.
func unixSockets(t *testing.T, pids ...int) []string {
	t.Helper()
	own := sockets(t, pids...)
	raw, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(raw)) {
		f := strings.Fields(line)
		if len(f) == 8 && own[f[6]] {
			out = append(out, f[7])
		}
	}
	return out
}
