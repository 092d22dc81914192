package once

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/test/harness"
)

// serveReplica is one of several processes behind one port, as behind a load balancer. A call whose key says so kills the process after it
// acted.
func serveReplica() {
	l, err := net.FileListener(os.NewFile(3, "listener"))
	if err != nil {
		panic(err)
	}
	modern := os.Getenv("ERA") == "modern"
	panic(http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req, err := readRequest(r.Body)
		switch {
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		case err != nil || req.ID == nil:
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if req.Method != "tools/call" {
			fmt.Fprint(w, req.reply(modern))
			return
		}
		note(req.key())
		if strings.HasSuffix(req.key(), "/kill") {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		fmt.Fprint(w, strings.ReplaceAll(bodies["result"].text, "ID", string(req.ID)))
	})))
}

// TestAReplicaIsKilledInMidCall repeatedly kills one of three processes behind a port during a call, while others run. The remaining ones
// answer at once, so that a repeated call is executed.
func TestAReplicaIsKilledInMidCall(t *testing.T) {
	self, err := os.Executable()
	harness.Must(t, err)
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			m := newMesh(t)
			file := filepath.Join(t.TempDir(), "acts")
			l, err := net.Listen("tcp", "127.0.0.1:0")
			harness.Must(t, err)
			port, err := l.(*net.TCPListener).File()
			harness.Must(t, err)
			harness.Must(t, l.Close())
			var replicas sync.WaitGroup
			stop := make(chan struct{})
			for range 3 {
				replicas.Go(func() {
					for {
						cmd := exec.Command(self)
						cmd.Env = append(os.Environ(), "WINDLASS_TEST_SERVER=replica", "ERA="+era, "ACTS="+file)
						cmd.ExtraFiles = []*os.File{port}
						if err := cmd.Start(); err != nil {
							t.Error(err)
							return
						}
						ended := make(chan struct{})
						go func() {
							_ = cmd.Wait() // killed, here or by itself
							close(ended)
						}()
						select {
						case <-ended:
						case <-stop:
							_ = cmd.Process.Kill()
							<-ended
							return
						}
					}
				})
			}
			t.Cleanup(func() { close(stop); replicas.Wait(); harness.Must(t, port.Close()) })
			m.source(&registryv1.Source{Name: "x", Url: "http://" + l.Addr().String() + "/mcp"})
			each(48, 6, func(i int) {
				k := key(i) + "/live"
				if i%4 == 3 {
					k = key(i) + "/kill"
				}
				got := m.call("x", once, k)
				acts := noted(t, file, k)
				switch {
				case acts > 1, acts == 1 && got.String() == "not called", strings.HasSuffix(k, "/kill") && acts == 1 && got.String() != "unknown":
					t.Errorf("%s acted %d times, told %s: %s", k, acts, got, got.text)
				case acts == 0 && got.String() == "result":
					t.Errorf("%s never acted, told %s", k, got)
				}
			})
		})
	}
}
