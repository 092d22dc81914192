package sessions_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/enum"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// TestHostileReceiversAreBounded: whatever a receiver answers, little of it is read and one attempt comes to an end. The second
// attempt is taken.
func TestHostileReceiversAreBounded(t *testing.T) {
	o := hooked()
	o.cfg.Webhooks.Timeout = time.Minute // every row ends by itself
	k := newKit(t, o)
	block := strings.Repeat("x", 64<<10)
	drip := func(w http.ResponseWriter, r *http.Request, text string) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, text); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
	// Each is an answer, and whether the delivery counts as taken.
	rows := map[string]struct {
		answer func(http.ResponseWriter, *http.Request) (sent int)
		taken  bool
	}{
		"a body of 60 MB": {func(w http.ResponseWriter, _ *http.Request) (sent int) {
			for range 60 << 20 / len(block) {
				n, err := io.WriteString(w, block)
				if sent += n; err != nil {
					break
				}
			}
			return sent
		}, true},
		"a body of 2 GB, compressed": {func(w http.ResponseWriter, _ *http.Request) (sent int) {
			w.Header().Set("Content-Encoding", "gzip")
			_ = http.NewResponseController(w).Flush() // the attempt is timed until the headers are there
			z := gzip.NewWriter(w)
			for range 2 << 30 / len(block) {
				if _, err := io.WriteString(z, block); err != nil {
					break
				}
			}
			return 0
		}, true},
		"a body that drips": {func(w http.ResponseWriter, r *http.Request) int { drip(w, r, "x"); return 0 }, true},
		"headers without end": {func(w http.ResponseWriter, _ *http.Request) int {
			for i := range 200_000 {
				w.Header()[fmt.Sprint("X-", i)] = []string{"x"}
			}
			return 0
		}, false},
		"a header of 60 MB": {func(w http.ResponseWriter, _ *http.Request) int {
			w.Header().Set("X-Long", strings.Repeat(block, 960))
			return 0
		}, false},
		"early hints": {func(w http.ResponseWriter, r *http.Request) int { return hints(w, r) }, false},
		"an answer without HTTP": {func(w http.ResponseWriter, _ *http.Request) int {
			return hijacked(w, strings.Repeat("\xff\x00", 1<<20))
		}, false},
	}
	var mu sync.Mutex
	seen := map[string]int{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		name := strings.TrimPrefix(r.URL.Path, "/")
		mu.Lock()
		seen[name]++
		first := seen[name] == 1
		mu.Unlock()
		if !first {
			return
		}
		if sent := rows[name].answer(w, r); sent > 16<<20 { // what kernels keep on both sides is in it
			t.Errorf("%s: %d bytes were read", name, sent)
		}
	}))
	t.Cleanup(s.Close)
	hooks := map[string]string{}
	for name := range rows {
		hooks[name] = k.webhook(&sessionsv1.Webhook{Url: s.URL + "/" + strings.ReplaceAll(name, " ", "%20")}).GetId()
	}
	k.end(k.newTurn("hello"), completed, "an answer")
	for name, id := range hooks {
		d := k.deliveries(id, settled(1))[0]
		want := 2
		if rows[name].taken {
			want = 1
		}
		if enum.Name(d.GetStatus()) != "delivered" || int(d.GetAttempts()) != want {
			t.Errorf("%s: %d attempts, want %d; %v", name, d.GetAttempts(), want, d)
		}
		if n := len(d.String()); n > 2000 {
			t.Errorf("%s: %d bytes were kept", name, n)
		}
	}
}

// hints sends informational answers until the client has enough of them.
func hints(w http.ResponseWriter, r *http.Request) int {
	w.Header().Set("Link", strings.Repeat("x", 1000))
	for i := 0; i < 10_000 && r.Context().Err() == nil; i++ {
		w.WriteHeader(http.StatusEarlyHints)
	}
	return 0
}

// hijacked writes to the connection itself.
func hijacked(w http.ResponseWriter, text string) int {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return 0
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, text)
	return 0
}
