package rpc_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/rpc"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// Calls to a role with a list of addresses reach each replica; when one is gone they reach the other.
func TestReplicasShareCalls(t *testing.T) {
	var addrs []string
	var all []*mesh
	ring, err := authn.NewKeyring(authn.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"first", "second"} {
		m := overTCP(t, ring)
		policyv1.RegisterPolicyServiceServer(m.server, fake{get: func(context.Context) (*policyv1.Decision, error) {
			return &policyv1.Decision{Subject: name}, nil
		}})
		m.start(t)
		all, addrs = append(all, m), append(addrs, m.listener.Addr().String())
	}
	conn, err := rpc.Dial(rpc.TCP{Targets: map[string]string{"role": strings.Join(addrs, ", ")}}, "role",
		rpc.ClientConfig{Keyring: ring, As: authn.Local()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	answers := func() string {
		d, err := decide(conn).GetDecision(t.Context(), anyDecision)
		if err != nil {
			t.Fatal(err)
		}
		return d.GetSubject()
	}
	seen := map[string]bool{}
	for len(seen) < 2 { // until both connections are up
		seen[answers()] = true
	}
	all[0].stop(t, true)
	for answered := 0; answered < 4; {
		d, err := decide(conn).GetDecision(t.Context(), anyDecision)
		switch {
		case status.Code(err) == codes.Unavailable: // sent before the client noticed that the connection ended
			answered = 0
		case err != nil:
			t.Fatal(err)
		case d.GetSubject() != "second":
			t.Fatalf("%s answered, which is gone", d.GetSubject())
		default:
			answered++
		}
	}
}

func TestBadListOfTargets(t *testing.T) {
	ring, err := authn.NewKeyring(authn.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"dns:///a:1,dns:///b:1", "a:1,", "a,b"} {
		_, err := rpc.Dial(rpc.TCP{Targets: map[string]string{"role": target}}, "role", rpc.ClientConfig{Keyring: ring})
		if err == nil || !strings.Contains(err.Error(), "mesh.targets.role") {
			t.Errorf("%s: %v", target, err)
		}
	}
}
