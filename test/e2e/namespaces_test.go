package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/test/harness"
)

// namesake is a person of one of two tenants that use the same names for everything, the person's own included.
type namesake struct {
	*harness.Client
	tenant string
	// word is in everything that belongs to the tenant.
	word string
	// keys are the idempotency keys that the tenant's tool server has seen.
	mu   sync.Mutex
	keys []string

	session, turn string
}

// server is an MCP server of the tenant. Its results differ from those of the other one.
func (n *namesake) server(t *testing.T) string {
	t.Helper()
	s := newToolServer(t, map[string]string{"get": "Gets " + n.word})
	s.call = func(_ http.ResponseWriter, r *http.Request, _ string) harness.JSON {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.keys = append(n.keys, r.Header.Get("Idempotency-Key"))
		return said("result of "+n.word, false)
	}
	return s.URL + "/mcp"
}

// begin makes objects and runs turns, all with the same names and idempotency keys as the other tenant.
func (n *namesake) begin(t *testing.T) {
	t.Helper()
	n.Must("POST", "/v1/sources", harness.JSON{
		"name": "same", "kind": "mcp", "url": n.server(t), "effects": harness.JSON{"get": "read"}, "cache": harness.JSON{"ttl_seconds": 600},
	})
	n.Must("POST", "/v1/agents", harness.JSON{
		"id": "same", "tools": []string{"same__*"}, "model": "builtin/scripted", "instructions": n.word,
		"approvals": []harness.JSON{{"name": "ask", "tools": []string{"nothing__*"}}},
	})
	n.Must("POST", "/v1/secrets", harness.JSON{"name": "same", "value": "a secret", "description": n.word})
	n.Must("POST", "/v1/tool-groups", harness.JSON{"name": "same", "tools": []string{"same__get"}, "description": n.word})
	n.Must("POST", "/v1/schedules", harness.JSON{"id": "same", "agent_id": "same", "input": n.word, "cron": "0 0 1 1 *"})
	n.session = n.Must("POST", "/v1/sessions", harness.JSON{"agent_id": "same", "title": "same"}, "Idempotency-Key", "same").Str("id")
	n.turn = n.Must("POST", "/v1/sessions/"+n.session+"/turns", n.input(), "Idempotency-Key", "same").Str("id")
}

// input is the request for the turn.
func (n *namesake) input() harness.JSON {
	return harness.JSON{"input": "call:same__get {\"a\":1} then say:" + n.word}
}

// listening are the messages that pass on a bus.
type listening struct {
	mu  sync.Mutex
	all []bus.Msg
}

func listenToBus(t *testing.T, m *harness.Mesh) *listening {
	t.Helper()
	b, l := m.Bus(), &listening{}
	for _, subject := range []string{"windlass.>", "$KV.>"} {
		s, err := b.Subscribe(subject, 100_000)
		harness.Must(t, err)
		go func() {
			for msg := range s.C() {
				l.mu.Lock()
				l.all = append(l.all, msg)
				l.mu.Unlock()
			}
		}()
	}
	harness.Must(t, b.Flush(t.Context()))
	return l
}

// sharedSubjects are subjects of messages that are about no tenant's objects, or whose data says of which tenant they are.
var sharedSubjects = []string{"windlass.registry.cache.changed", "windlass.inference.health"}

// check holds the messages to their subjects: each is of one tenant, and has nothing of the other.
func (l *listening) check(t *testing.T, a, b *namesake) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	seen, owner := map[string]int{}, map[string]string{}
	for _, msg := range l.all {
		part := strings.Split(msg.Subject, ".")
		of := part[1]
		if part[0] == "$KV" {
			of = "bucket " + part[2]
		}
		seen[of]++
		for n, other := range map[*namesake]*namesake{a: b, b: a} {
			if !strings.Contains(string(msg.Data), n.word) && !strings.Contains(msg.Subject, n.session) {
				continue
			}
			if owner[of] == "" {
				owner[of] = n.tenant
			}
			if owner[of] != n.tenant || strings.Contains(string(msg.Data), other.word) {
				t.Errorf("%s has something of %s: %q", msg.Subject, n.tenant, msg.Data)
			}
		}
		if part[0] != "$KV" && of != a.tenant && of != b.tenant && !slices.Contains(sharedSubjects, msg.Subject) {
			t.Errorf("the subject %s belongs to no tenant", msg.Subject)
		}
	}
	if seen[a.tenant] == 0 || seen[b.tenant] == 0 || owner[a.tenant] != a.tenant || owner[b.tenant] != b.tenant {
		t.Errorf("messages %v, tenants %v", seen, owner)
	}
}

// TestS13TenantsWithTheSameNames: two tenants name everything alike, their only user and idempotency keys included. Calls, caches,
// workflows and messages of one do not meet those of the other.
func TestS13TenantsWithTheSameNames(t *testing.T) {
	t.Parallel()
	m := harness.Split(t, harness.SplitOptions{Env: []string{
		"WINDLASS_POLICY_VAULT_MASTER_KEY=a-master-key-for-tests-that-is-long-enough",
	}, Config: harness.JSON{"policy": harness.JSON{"rules": []harness.JSON{
		{"name": "local", "subjects": []string{"local"}, "permissions": []string{"*"}, "tools": []string{"*"}},
		{"name": "all", "roles": []string{"admin"}, "permissions": []string{"*"}, "tools": []string{"*"}},
	}}}})
	heard := listenToBus(t, m)
	both := map[string]*namesake{}
	for tenant, word := range map[string]string{authn.DefaultTenant: "peppermint", "acme": "saffron"} {
		p := authn.User("dev:sam", "admin")
		p.Tenant, p.Issuer = tenant, "dev"
		both[tenant] = &namesake{Client: m.AsPrincipal(p), tenant: tenant, word: word}
	}
	a, b := both[authn.DefaultTenant], both["acme"]
	a.begin(t)
	b.begin(t)
	for n, other := range map[*namesake]*namesake{a: b, b: a} {
		if n.session == other.session || n.turn == other.turn {
			t.Errorf("both tenants have session %s and turn %s", n.session, n.turn)
		}
		if end := n.Wait(n.turn); end.Str("output") != n.word {
			t.Errorf("%s: turn %v", n.tenant, end)
		}
		if end := n.Must("POST", "/v1/sessions/"+n.session+"/turns", n.input(), "Idempotency-Key", "same"); end.Str("id") != n.turn {
			t.Errorf("%s: the turn's request again gives %v", n.tenant, end)
		}
		for i := range 2 { // the second time from the cache, and by its key
			got := n.Must("POST", "/v1/tools/same__get:invoke", harness.JSON{"arguments": harness.JSON{"a": 1}})
			if text := fmt.Sprint(got); !strings.Contains(text, n.word) || strings.Contains(text, other.word) || i == 1 && got["cached"] != true {
				t.Errorf("%s: call %d gives %v", n.tenant, i, got)
			}
			got = n.Must("POST", "/v1/tools/same__get:invoke", harness.JSON{"arguments": harness.JSON{"a": 2}}, "Idempotency-Key", "same")
			if !strings.Contains(fmt.Sprint(got), n.word) {
				t.Errorf("%s: call with a key gives %v", n.tenant, got)
			}
		}
		for _, path := range []string{"agents/same", "sources/same", "tool-groups/same", "schedules/same", "secrets/same", "sessions", "turns"} {
			if text := fmt.Sprint(n.Must("GET", "/v1/"+path, nil)); strings.Contains(text, other.word) {
				t.Errorf("%s reads of the other tenant at %s: %s", n.tenant, path, text)
			}
		}
		h := m.Histories(t, n.turn)[n.turn]
		if text := h.String(); strings.Contains(text, other.session) || strings.Contains(text, other.turn) {
			t.Errorf("the workflow of %s has something of the other tenant", n.tenant)
		}
	}
	a.mu.Lock()
	b.mu.Lock()
	for _, key := range a.keys {
		if key != "" && slices.Contains(b.keys, key) {
			t.Errorf("the tool servers of both tenants have seen the key %s", key)
		}
	}
	if len(a.keys) == 0 || len(a.keys) != len(b.keys) {
		t.Errorf("keys %v and %v", a.keys, b.keys)
	}
	a.mu.Unlock()
	b.mu.Unlock()
	harness.Eventually(time.Minute, func() bool { // the last message may be on its way
		heard.mu.Lock()
		defer heard.mu.Unlock()
		return len(heard.all) > 0 && slices.ContainsFunc(heard.all, func(m bus.Msg) bool { return strings.Contains(string(m.Data), b.word) })
	})
	heard.check(t, a, b)
}
