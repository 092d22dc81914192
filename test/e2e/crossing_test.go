package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/rpc"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/test/harness"
)

// crossing is a mesh with objects of the tenant "default", and a connection to it that calls as any principal.
type crossing struct {
	t    *testing.T
	up   *harness.Embedded
	conn rpc.Conn
	// ids are the objects by kind, and unknown are IDs of the same form that never existed.
	ids, unknown map[string]string
}

func newCrossing(t *testing.T) *crossing {
	t.Helper()
	return crossingOf(t, harness.Up(t, t.TempDir(), []string{"WINDLASS_INFERENCE_DETECT=false"}))
}

func crossingOf(t *testing.T, up *harness.Embedded) *crossing {
	t.Helper()
	key, err := os.ReadFile(filepath.Join(up.DataDir, "mesh.key"))
	if err != nil {
		t.Fatal(err)
	}
	ring, err := authn.NewKeyring([]byte(strings.TrimSpace(string(key))))
	if err != nil {
		t.Fatal(err)
	}
	addr, _ := up.Ready["grpc"].(string)
	conn, err := rpc.Dial(harness.Network(t, strings.TrimSpace(string(key)), map[string]string{"gateway": addr}), "gateway",
		rpc.ClientConfig{Keyring: ring})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	x := &crossing{t: t, up: up, conn: conn, unknown: map[string]string{}}
	x.ids = x.objects()
	for kind, id := range x.ids {
		last := "0"
		if strings.HasSuffix(id, last) {
			last = "1"
		}
		x.unknown[kind] = id[:len(id)-1] + last
	}
	return x
}

// canary is in the objects of the first tenant, and must be in no answer to others.
const canary = "canary-of-the-first-tenant"

// objects makes one object of each kind.
func (x *crossing) objects() map[string]string {
	x.t.Helper()
	c := x.up.Client
	made := func(path string, body harness.JSON) string { return c.Must("POST", path, body).Str("id") }
	tools := babbler(x.t)
	tools.set(map[string]string{"mb": "1 MB: " + canary})
	made("/v1/sources", harness.JSON{"name": "s13tools", "kind": "mcp", "url": tools.URL + "/mcp?" + canary})
	made("/v1/agents", harness.JSON{
		"id": "s13agent", "tools": []string{"s13tools__*"}, "model": "builtin/scripted", "instructions": canary, "display_name": canary,
	})
	session := made("/v1/sessions", harness.JSON{"agent_id": "s13agent", "title": canary, "labels": harness.JSON{"label": canary}})
	turn := c.Turn(session, "call:s13tools__mb {} then say:"+canary)
	if end := c.Wait(turn); end.Str("output") != canary {
		x.t.Fatalf("turn %v", end)
	}
	waiting := c.Turn(guarded(c, "s13guarded", 600), once)
	var approval string
	harness.Eventually(time.Minute, func() bool {
		now, _ := c.Must("GET", "/v1/turns/"+waiting, nil)["waiting_for"].([]any)
		if len(now) > 0 {
			approval, _ = now[0].(string)
		}
		return approval != ""
	})
	artifacts, _ := results(c, session)["s13tools__mb"]["artifact_ids"].([]any)
	execution := list(c.Must("GET", "/v1/executions?turn_id="+turn, nil), "executions")
	decisions := list(c.Must("GET", "/v1/decisions?turn_id="+turn, nil), "decisions")
	if len(artifacts) == 0 || len(execution) == 0 || len(decisions) == 0 {
		x.t.Fatalf("artifacts %v, executions %v, decisions %v", artifacts, execution, decisions)
	}
	made("/v1/banks", harness.JSON{"id": "s13bank", "description": canary})
	made("/v1/tool-groups", harness.JSON{"name": "s13group", "tools": []string{"s13tools__mb"}, "description": canary})
	schedule := made("/v1/schedules", harness.JSON{"id": "s13schedule", "agent_id": "s13agent", "input": canary, "cron": "0 0 1 jan *"})
	harness.Eventually(time.Minute, func() bool { return c.Must("GET", "/v1/schedules/"+schedule, nil)["synced"] == true })
	c.Must("POST", "/v1/secrets", harness.JSON{"name": "s13secret", "value": canary, "description": canary})
	c.Must("PATCH", "/v1/quotas/user:dev:s13-nobody", harness.JSON{"tokens_per_day": "1000"})
	c.Must("POST", "/v1/access-policies", harness.JSON{
		"name": "s13policy", "description": canary, "effect": "allow", "tools": []string{"s13tools__*"},
		"matchers": []harness.JSON{{"path": "department", "operator": "equals", "values": []string{"finance"}}},
	})
	c.Must("POST", "/v1/routes", harness.JSON{
		"name": "s13route", "description": canary, "when": `agent == "none"`, "targets": []harness.JSON{{"model": "builtin/scripted"}},
	})
	return map[string]string{
		"route": "s13route", "agent": "s13agent", "source": "s13tools", "tool": "s13tools__mb", "group": "s13group", "schedule": "s13schedule",
		"secret": "s13secret", "policy": "s13policy", "session": session, "turn": turn, "waiting": waiting, "approval": approval,
		"artifact": fmt.Sprint(artifacts[0]), "execution": execution[0].Str("id"), "decision": decisions[0].Str("id"),
		"key": "trn/" + turn, "subject": "dev:s13-nobody", "quota": "user:dev:s13-nobody",
		"bank": "s13bank", "document": made("/v1/banks/s13bank/documents", harness.JSON{"name": canary + ".md", "text": canary}),
		"banksource": made("/v1/banks/s13bank/sources", harness.JSON{"kind": "url", "url": "http://127.0.0.1:1/" + canary}),
		"file":       uploaded(x.t, c, canary+".txt", []byte(canary)).Str("id"),
		"fact":       made("/v1/memory", harness.JSON{"attribute": "canary", "value": canary}),
		"upload":     c.Must("POST", "/v1/uploads", nil, "Upload-Length", "5").Str("id"),
		"budget":     made("/v1/budgets", harness.JSON{"scope": "agent", "target": "s13agent", "period": "day", "max_tokens": "100000"}),
		"webhook":    made("/v1/webhooks", harness.JSON{"url": "http://127.0.0.1:1/" + canary, "events": []string{"turn.completed"}}),
	}
}

// streamTime is how long a stream that does not end may show something it must not.
const streamTime = 2 * time.Second

// call calls an RPC, and returns what it answers as JSON, and its error as text with {names} in place of IDs.
func (x *crossing) call(as *policyv1.Principal, m protoreflect.MethodDescriptor, request string, ids map[string]string) (
	string, codes.Code,
) {
	x.t.Helper()
	for kind, id := range ids {
		request = strings.ReplaceAll(request, "{"+kind+"}", id)
	}
	in, err := protoregistry.GlobalTypes.FindMessageByName(m.Input().FullName())
	if err != nil {
		x.t.Fatal(err)
	}
	req := in.New().Interface()
	if err := protojson.Unmarshal([]byte(request), req); err != nil {
		x.t.Fatalf("%s: %s: %v", m.FullName(), request, err)
	}
	ctx, cancel := context.WithTimeout(authn.With(x.t.Context(), as), time.Minute)
	defer cancel()
	stream, err := x.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true},
		"/"+string(m.Parent().FullName())+"/"+string(m.Name()))
	if err == nil {
		if err = stream.SendMsg(req); err == nil || errors.Is(err, io.EOF) { // EOF: RecvMsg has the error
			err = stream.CloseSend()
		}
	}
	if err == nil && m.IsStreamingServer() {
		if header, _ := stream.Header(); header != nil { // it is accepted, and may not end by itself
			defer time.AfterFunc(streamTime, cancel).Stop()
		}
	}
	var text strings.Builder
	for err == nil {
		out, ferr := protoregistry.GlobalTypes.FindMessageByName(m.Output().FullName())
		if ferr != nil {
			x.t.Fatal(ferr)
		}
		resp := out.New().Interface()
		if err = stream.RecvMsg(resp); err == nil {
			raw, _ := protojson.Marshal(resp)
			text.Write(raw)
		}
	}
	code := codes.OK
	st := status.Convert(err)
	open := m.IsStreamingServer() && st.Code() == codes.Canceled
	if !errors.Is(err, io.EOF) && !open {
		code = st.Code()
		text.WriteString(prototext.MarshalOptions{}.Format(st.Proto()))
	}
	shown := text.String()
	longest := func(a, b string) int { return len(ids[b]) - len(ids[a]) } // a source's name begins its tools' names
	for _, kind := range slices.SortedFunc(maps.Keys(ids), longest) {
		shown = strings.ReplaceAll(shown, ids[kind], "{"+kind+"}")
	}
	return shown, code
}

// check calls an RPC as one principal.
func (x *crossing) check(t *testing.T, as, nobody *policyv1.Principal, m protoreflect.MethodDescriptor, r reach) {
	t.Helper()
	for _, request := range r.requests {
		got, code := x.call(as, m, request, x.ids)
		other, otherCode := x.call(as, m, request, x.unknown)
		if r.want == nothing {
			other, otherCode = x.call(nobody, m, request, x.ids)
			for kind, id := range x.ids {
				if strings.Contains(got, "{"+kind+"}") && !strings.Contains(request, "{"+kind+"}") {
					t.Errorf("%s %s shows %s: %s", m.Name(), request, id, got)
				}
			}
		}
		if code != otherCode || scrub(got) != scrub(other) {
			t.Errorf("%s %s as %s of %s:\n%s %s, want\n%s %s", m.FullName(), request, as.GetSubject(), as.GetTenant(), code, got, otherCode, other)
		}
		if strings.Contains(got, canary) {
			t.Errorf("%s %s shows something of another tenant: %s", m.FullName(), request, got)
		}
		if r.want == notFound && code != codes.NotFound {
			t.Errorf("%s %s as %s of %s: %s %s, want NOT_FOUND", m.FullName(), request, as.GetSubject(), as.GetTenant(), code, got)
		}
		if r.want == nothing && code != codes.OK {
			t.Errorf("%s %s: %s %s", m.FullName(), request, code, got)
		}
	}
}

var instant = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`)

// cross calls an RPC from another tenant, and as another user of the same tenant.
func (x *crossing) cross(t *testing.T, m protoreflect.MethodDescriptor, r reach) {
	t.Helper()
	as, nobody := subjectOf("acme", "carol", "admin", "user"), subjectOf("nowhere", "carol", "admin", "user")
	if r.as != "" {
		as, nobody = authn.Service(r.as), authn.Service(r.as)
		as.Tenant, nobody.Tenant = "acme", "nowhere"
	}
	x.check(t, as, nobody, m, r)
	if r.owned {
		x.check(t, subjectOf(authn.DefaultTenant, "bob", "user"), nil, m, r)
	}
}

// scrub removes what differs between two calls: times, and the spaces that protojson adds.
func scrub(text string) string {
	return instant.ReplaceAllString(strings.ReplaceAll(text, " ", ""), "TIME")
}

func subjectOf(tenant, name string, roles ...string) *policyv1.Principal {
	p := authn.User("dev:"+name, roles...)
	p.Tenant, p.Issuer = tenant, "dev"
	return p
}

// TestS13NothingOfAnotherTenantIsFound calls each RPC from another tenant, as an administrator or as a role that acts for it, with IDs of
// the first tenant's objects. Each answers as for IDs that never existed, and lists are those of a tenant that has nothing. Another user of
// the same tenant does not find what belongs to one user.
func TestS13NothingOfAnotherTenantIsFound(t *testing.T) {
	t.Parallel()
	x := newCrossing(t)
	before := x.state()
	seen := map[string]bool{}
	everyMethod(func(full string, m protoreflect.MethodDescriptor) {
		name := string(m.Parent().Name()) + "." + string(m.Name())
		seen[name] = true
		r, ok := reaches[name]
		switch {
		case !ok:
			t.Errorf("%s is not in reaches: say how to call it with IDs of another tenant", name)
			return
		case r.want == skipped:
			if r.why == "" {
				t.Errorf("%s: why is it not called?", name)
			}
			return
		case rpc.Internal(full) != (r.as != ""):
			t.Errorf("%s: internal is %t, and it is called as %q", name, rpc.Internal(full), r.as)
		}
		x.cross(t, m, r)
		x.cross(t, m, further[name])
	})
	for name := range reaches {
		if !seen[name] {
			t.Errorf("there is no %s", name)
		}
	}
	if after := x.state(); after != before {
		t.Errorf("the objects were changed:\n%s\nwere\n%s", after, before)
	}
}

// state is what the owner sees of the objects.
func (x *crossing) state() string {
	x.t.Helper()
	var all strings.Builder
	for _, path := range []string{
		"sessions/{session}", "turns/{turn}", "turns/{waiting}", "agents/{agent}", "sources/{source}", "tool-groups/{group}",
		"approvals/{approval}",
		"schedules/{schedule}", "webhooks/{webhook}", "secrets/{secret}", "access-policies/{policy}", "budgets/{budget}",
		"quotas/{quota}", "routes/{route}",
	} {
		for kind, id := range x.ids {
			path = strings.ReplaceAll(path, "{"+kind+"}", id)
		}
		object := x.up.Client.Must("GET", "/v1/"+path, nil)
		delete(object, "sync_time") // the mesh reads a source again by itself
		raw, err := json.Marshal(object)
		if err != nil {
			x.t.Fatal(err)
		}
		fmt.Fprintf(&all, "%s\n", raw)
	}
	return all.String()
}
