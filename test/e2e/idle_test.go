package e2e

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/test/harness"
)

// Many people leave a page open. A stream on which nothing happens costs little, and each of them still gets what happens then.
func TestIdleStreamsAreCheap(t *testing.T) {
	const most = 64 << 10
	streams := 600
	if testmain.Whole() {
		streams = 5000
	}
	m := harness.Split(t, harness.SplitOptions{Plain: true, Config: harness.JSON{"gateway": harness.JSON{"heartbeat": "5m"}}})
	m.Client.Must("POST", "/v1/agents", harness.JSON{"id": "a"})
	sessions := make([]string, 100)
	for i := range sessions {
		sessions[i] = m.Client.Session("a")
	}
	host, token := strings.TrimPrefix(m.Client.Base, "http://"), m.Client.Token()
	begin := time.Now()
	all := []*stream{watch(t, host, token, sessions[0])} // the first stream pays for what all share
	gateway, service := m.Process("gateway"), m.Process("sessions")
	gatewayBefore, serviceBefore := gateway.RSS(), service.RSS()
	for i := range streams {
		all = append(all, watch(t, host, token, sessions[i%len(sessions)]))
	}
	gatewayEach, serviceEach := (gateway.RSS()-gatewayBefore)/streams, (service.RSS()-serviceBefore)/streams
	t.Logf("%d idle streams opened in %v: %d bytes each in the gateway, %d in sessions", streams, time.Since(begin).Round(time.Millisecond),
		gatewayEach, serviceEach)
	if gatewayEach > most {
		t.Errorf("an idle stream holds %d bytes of the gateway, want at most %d", gatewayEach, most)
	}
	for _, session := range sessions {
		m.Client.Turn(session, "say:hello")
	}
	begin = time.Now()
	var reading sync.WaitGroup
	for _, s := range all {
		reading.Go(func() {
			if err := s.readTurn(); err != nil {
				t.Errorf("a stream of session %s: %v", s.session, err)
			}
		})
	}
	reading.Wait()
	t.Logf("all %d streams had the turn of their session after %v", len(all), time.Since(begin).Round(time.Millisecond))
}

// stream is a session's event stream, read by hand over a connection of its own.
type stream struct {
	session string
	r       *bufio.Reader
}

// watch opens a session's event stream and reads until it is established.
func watch(t *testing.T, host, token, session string) *stream {
	t.Helper()
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	// The body is not closed: that would read an open stream to its end first.
	t.Cleanup(func() { _ = conn.Close() }) // the stream may be gone before
	if err := conn.SetDeadline(time.Now().Add(5 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	const request = "GET /v1/sessions/%s/events HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n"
	if _, err := fmt.Fprintf(conn, request, session, host, token); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReaderSize(conn, 512), nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("the stream answers %v: %v", resp, err)
	}
	r := bufio.NewReaderSize(resp.Body, 512)
	for line := ""; !strings.HasPrefix(line, "retry:"); {
		if line, err = r.ReadString('\n'); err != nil {
			t.Fatalf("no first frame: %v", err)
		}
	}
	return &stream{session: session, r: r}
}

// readTurn reads the session's first turn to its end: each durable event once, in order, without a gap.
func (s *stream) readTurn() error {
	seq := 0
	for {
		line, err := s.r.ReadString('\n')
		if err != nil {
			return fmt.Errorf("after event %d: %w", seq, err)
		}
		if id, ok := strings.CutPrefix(line, "id: "); ok && !strings.Contains(id, ".") {
			if n, err := strconv.Atoi(strings.TrimSpace(id)); err != nil || n != seq+1 {
				return fmt.Errorf("event %q after event %d", strings.TrimSpace(id), seq)
			}
			seq++
		}
		if strings.HasPrefix(line, "event: turn.completed") {
			return nil
		}
	}
}
