package gateway_test

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"

	"github.com/windlass-dev/windlass/gateway"
	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/rpc"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// idleBudget is the memory that a silent stream may take at the gateway, in KiB, all included.
const idleBudget = 64

// TestIdleStreamsAreCheap holds streams open at a gateway in a process of its own and looks at its resident memory.
// WINDLASS_TEST_STREAMS sets their number; with few of them the process's own growth is counted against them.
func TestIdleStreamsAreCheap(t *testing.T) {
	n := 1000
	if s := os.Getenv("WINDLASS_TEST_STREAMS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	if raceEnabled || testing.Short() {
		t.Skip("the race detector's own memory would be measured")
	}
	pid, addr := startChild(t)
	before := resident(t, pid)
	for range n {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if _, err := io.WriteString(conn, "GET /v1/sessions/ses_1/events HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReaderSize(conn, 512)
		for line := ""; !strings.HasPrefix(line, "retry:"); {
			if line, err = in.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
	}
	after := resident(t, pid)
	each := float64(after-before) / float64(n)
	t.Logf("%d idle streams: %d KiB before, %d KiB with them, %.1f KiB each", n, before, after, each)
	if each > idleBudget {
		t.Errorf("an idle stream takes %.1f KiB, more than %d", each, idleBudget)
	}
}

// startChild serves a gateway in another process, over a fake upstream in this one.
func startChild(t *testing.T) (pid int, addr string) {
	t.Helper()
	up := newUpstream(t)
	up.watch = func(_ *sessionsv1.WatchRequest, ss watchStream) error {
		_ = ss.SendHeader(metadata.MD{})
		<-ss.Context().Done()
		return nil
	}
	key := authn.NewKey()
	ring, err := authn.NewKeyring(key)
	if err != nil {
		t.Fatal(err)
	}
	srv, err := rpc.NewServer(rpc.ServerConfig{Log: slog.New(slog.DiscardHandler), Keyring: ring, Authorizer: rpctest.AllowAll{}})
	if err != nil {
		t.Fatal(err)
	}
	up.register(srv)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), childEnv+"="+l.Addr().String()+" "+hex.EncodeToString(key))
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = child.Process.Kill()
		_ = child.Wait()
		srv.Stop(t.Context()) // is over by now: what is left is cut
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return child.Process.Pid, strings.TrimSpace(line)
}

// childMain is the other process. It serves until it is killed.
func childMain() {
	if err := serveChild(os.Getenv(childEnv)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serveChild(args string) error {
	target, hexKey, _ := strings.Cut(args, " ")
	key, err := hex.DecodeString(hexKey)
	if err != nil {
		return err
	}
	ring, err := authn.NewKeyring(key)
	if err != nil {
		return err
	}
	conn, err := rpc.Dial(rpc.TCP{Targets: map[string]string{"all": target}}, "all", rpc.ClientConfig{Keyring: ring})
	if err != nil {
		return err
	}
	g, err := gateway.New(localConfig(), depsOn(conn))
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	return g.Serve(l)
}

// resident gives a process's resident memory in KiB.
func resident(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Skipf("this system does not tell a process's memory: %v", err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, err := strconv.Atoi(strings.Fields(value)[0])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Skip("this system does not tell a process's memory")
	return 0
}
