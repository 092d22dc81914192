package crash

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
)

const (
	// awayTime and shortAway are how long the database is away, in `make chaos` and in `make test`.
	awayTime  = 30 * time.Second
	shortAway = 3 * time.Second
	// promisedPool is how soon writes are accepted again when the database is back; only more than maxPool fails.
	promisedPool = 5 * time.Second
	maxPool      = 30 * time.Second
)

// databaseAway: without a database nothing is accepted or promised, what needs no database is served, and when it is back everything
// continues by itself.
func databaseAway(t *testing.T, h *theatre, id string) (string, time.Duration) {
	r := h.trial(t, h.play(t, id, 4, false), "")
	holdWords(r)
	other := h.trial(t, h.play(t, id+"-later", -1, false), "")
	h.Database().Stop()
	gone, away := time.Now(), shortAway
	if os.Getenv(chaosEnv) != "" {
		away = awayTime
	}
	h.count("database faults", 1)
	var slowest time.Duration
	asked := 0
	for time.Since(gone) < away && !t.Failed() {
		slowest = max(slowest, r.refused(other.session))
		asked++
	}
	other.post() // repeated under its key
	close(r.play.gate.open)
	h.Database().Start()
	back := time.Now()
	r.insist(func() bool {
		status, _, err := r.client.Do(t.Context(), "POST", "/v1/sessions", harness.JSON{"agent_id": "a"})
		return err == nil && status < http.StatusMultipleChoices || time.Since(back) > maxPool
	})
	recovery := since(back)
	t.Logf("%d rounds of refusals in %v, the slowest answer after %v; written again %v after the database was back%s",
		asked, since(gone), slowest.Round(time.Millisecond), recovery, map[bool]string{true: "  SLOW"}[recovery > promisedPool])
	if recovery > maxPool {
		t.Errorf("nothing is written %v after the database was back", recovery)
	}
	other.watch()
	for _, one := range []*trial{r, other} {
		one.end()
		one.verify(leeway{inDoubt: true, lossy: true})
	}
	return r.turn, since(back)
}

// refused fails unless what needs the database is refused properly, and everything else is served. It returns the time of the slowest
// answer.
func (r *trial) refused(session string) (slowest time.Duration) {
	r.t.Helper()
	for _, call := range []struct {
		method, path, body string
		want               int
	}{
		{"POST", "/v1/sessions", `{"agent_id":"a"}`, http.StatusServiceUnavailable},
		{"POST", "/v1/sessions/" + session + "/turns", `{"input":"later"}`, http.StatusServiceUnavailable},
		{"POST", "/v1/agents", `{"id":"b"}`, http.StatusServiceUnavailable},
		{"GET", "/v1/decisions", "", http.StatusServiceUnavailable},
		{"GET", "/v1/turns/" + r.turn, "", http.StatusServiceUnavailable},
		{"GET", "/healthz", "", http.StatusOK},
		{"GET", "/openapi.json", "", http.StatusOK},
	} {
		from := time.Now()
		req, err := http.NewRequestWithContext(r.t.Context(), call.method, r.client.Base+call.path, strings.NewReader(call.body))
		if err != nil {
			r.t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := r.client.HTTP.Do(req)
		if err != nil {
			r.t.Errorf("%s %s: %v", call.method, call.path, err)
			continue
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		slowest = max(slowest, time.Since(from))
		if resp.StatusCode != call.want || call.want == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") == "" {
			r.t.Errorf("%s %s without a database: %d %v %.300s", call.method, call.path, resp.StatusCode, resp.Header, body)
		}
		r.h.count("answers without a database", 1)
	}
	return slowest
}
