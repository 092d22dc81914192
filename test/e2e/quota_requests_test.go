package e2e

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/testpoll"
	"github.com/windlass-dev/windlass/test/harness"
)

// admitted counts the requests that are admitted, and knows the minutes of the clock in which they were sent.
type admitted struct {
	mu          sync.Mutex
	requests    int
	first, last time.Time
}

// untilRefused sends requests until some have been refused, each a few times so that a lease that is late is used too.
func (a *admitted) untilRefused(t *testing.T, c *harness.Client) {
	t.Helper()
	for refused := 0; refused < 5; {
		sent := time.Now()
		status, _, err := c.Do(t.Context(), "GET", "/v1/quotas", nil)
		a.mu.Lock()
		if a.first.IsZero() {
			a.first = sent
		}
		a.last = time.Now()
		switch {
		case err != nil || status >= 500: // its process is being started
		case status == http.StatusTooManyRequests:
			refused++
		default:
			a.requests++
		}
		a.mu.Unlock()
	}
}

// check checks that no more have been admitted than the limit allows in the minutes that have passed.
func (a *admitted) check(t *testing.T, limit int) {
	t.Helper()
	minutes := int(a.last.Truncate(time.Minute).Sub(a.first.Truncate(time.Minute))/time.Minute) + 1
	if a.requests > limit*minutes || a.requests < limit/2 {
		t.Errorf("%d requests were admitted in %d minutes; the limit is %d", a.requests, minutes, limit)
	}
}

// TestS22RequestsAreKeptOverRestarts kills windlass up, which starts with what its earlier process had leased.
func TestS22RequestsAreKeptOverRestarts(t *testing.T) {
	t.Parallel()
	const limit = 100
	dir, env := t.TempDir(), []string{"WINDLASS_POLICY_QUOTAS_USER_REQUESTS_PER_MINUTE=100"}
	var a admitted
	for range 3 {
		up := harness.Up(t, dir, env)
		a.untilRefused(t, up.Client)
		up.Kill()
	}
	a.check(t, limit)
}

// TestS22RequestsHoldOverReplicas sends requests to two gateways, which lease them from two processes with the policy role, and restarts
// one of each.
func TestS22RequestsHoldOverReplicas(t *testing.T) {
	t.Parallel()
	const limit = 200
	o := harness.SplitOptions{
		Topology: harness.Topology{Postgres: true, Replicas: 2},
		Config:   harness.JSON{"policy": harness.JSON{"quotas": harness.JSON{"user": harness.JSON{"requests_per_minute": limit}}}},
	}
	for _, role := range []string{"inference", "mcpbridge", "knowledge", "registry", "sessions", "worker"} {
		o.Absent = append(o.Absent, role+"-1", role+"-2")
	}
	o.Absent = append(o.Absent, "temporal")
	m := harness.Split(t, o)
	var a admitted
	both := func() {
		var all sync.WaitGroup
		for _, name := range m.Members("gateway") {
			c := m.ClientOf(name)
			for range 3 {
				all.Go(func() { a.untilRefused(t, c) })
			}
		}
		all.Wait()
	}
	both()
	m.Restart("gateway-1")
	m.Restart("policy-2")
	both()
	a.check(t, limit)
}

// TestS22ASchedulesRefusedTurnIsOnRecord: the fire says which quota refused its turn, and later ones are started again.
func TestS22ASchedulesRefusedTurnIsOnRecord(t *testing.T) {
	t.Parallel()
	c := harness.Up(t, t.TempDir(), nil).Client
	c.Must("POST", "/v1/agents", harness.JSON{"id": "clerk", "model": "builtin/scripted"})
	c.Must("PATCH", "/v1/quotas/users", harness.JSON{"concurrent_turns": "1"})
	running := c.Turn(c.Session("clerk"), "slow:60000 say:one two")
	c.Must("POST", "/v1/schedules", harness.JSON{"id": "often", "agent_id": "clerk", "input": "say:tick", "interval": "1s"})
	fires := func(outcome string) (out []harness.JSON) {
		for _, f := range list(c.Must("GET", "/v1/schedules/often", nil), "recent") {
			if f.Str("outcome") == outcome {
				out = append(out, f)
			}
		}
		return out
	}
	const text = "quota of 1 concurrent turns is used up"
	testpoll.Until(t, "a fire fails", func() bool { return len(fires("failed")) > 0 })
	if f := fires("failed")[0]; !strings.Contains(f.Str("error"), text) || f.Str("turn_id") != "" {
		t.Errorf("the fire: %v", f)
	}
	if s := c.Must("GET", "/v1/schedules/often", nil); !strings.Contains(s.Str("last_error"), text) {
		t.Errorf("the schedule: %v", s)
	}
	overQuota(t, c, "POST", "/v1/schedules/often:run", harness.JSON{}, text)
	c.Must("POST", "/v1/turns/"+running+":cancel", harness.JSON{})
	testpoll.Until(t, "a later fire starts its turn", func() bool { return len(fires("started")) > 0 })
}
