package e2e

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
)

// Many people leave a page open. 5,000 streams are opened where the programs are fast; with the race detector, which costs time and
// memory, 1,000, and their memory is only told.
func TestIdleStreamsAreCheap(t *testing.T) {
	streams, most := 5000, 64<<10
	if harness.Raced(t) {
		streams, most = 1000, 1<<20
	}
	m := harness.Split(t, harness.SplitOptions{Config: harness.JSON{"gateway": harness.JSON{"heartbeat": "5m"}}})
	m.Client.Must("POST", "/v1/agents", harness.JSON{"id": "a"})
	sessions := make([]string, 100)
	for i := range sessions {
		sessions[i] = m.Client.Session("a")
	}
	host := strings.TrimPrefix(m.Client.Base, "http://")
	begin := time.Now()
	watch(t, host, sessions[0]) // the first stream pays for what all share
	gateway, service := m.Process("gateway"), m.Process("sessions")
	gatewayBefore, serviceBefore := gateway.RSS(), service.RSS()
	for i := range streams {
		watch(t, host, sessions[i%len(sessions)])
	}
	gatewayEach, serviceEach := (gateway.RSS()-gatewayBefore)/streams, (service.RSS()-serviceBefore)/streams
	t.Logf("%d idle streams opened in %v: %d bytes each in the gateway, %d in sessions", streams, time.Since(begin).Round(time.Millisecond),
		gatewayEach, serviceEach)
	if gatewayEach > most {
		t.Errorf("an idle stream holds %d bytes of the gateway, want at most %d", gatewayEach, most)
	}
	// And they live: the mesh still answers, and a stream still gets what happens.
	turn := m.Client.Turn(sessions[0], "say:hello")
	if end := m.Client.Wait(turn); end.Str("output") != "hello" {
		t.Errorf("turn = %v", end)
	}
}

// watch opens a session's event stream over a connection of its own and reads until it is established.
func watch(t *testing.T, host, session string) {
	t.Helper()
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // the stream may be gone before
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "GET /v1/sessions/%s/events HTTP/1.1\r\nHost: %s\r\n\r\n", session, host); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReaderSize(conn, 512)
	status, err := r.ReadString('\n')
	if err != nil || !strings.Contains(status, "200") {
		t.Fatalf("the stream answers %q: %v", status, err)
	}
	for line := ""; !strings.HasPrefix(line, "retry:"); {
		if line, err = r.ReadString('\n'); err != nil {
			t.Fatalf("no first frame: %v", err)
		}
	}
}
