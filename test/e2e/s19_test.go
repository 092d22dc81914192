package e2e

import (
	"net/http"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/windlass-dev/windlass/libs/authn"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	"github.com/windlass-dev/windlass/test/harness"
)

// TestS19TheMeshBetweenProcesses: separate processes call each other over mutual TLS, which their key alone gives them. Their ports take no
// mesh token without a certificate, describe nothing, and have no profiles.
func TestS19TheMeshBetweenProcesses(t *testing.T) {
	t.Parallel()
	m := harness.Split(t, harness.SplitOptions{})
	c := m.Client
	c.Must("POST", "/v1/agents", harness.JSON{"id": "helper", "tools": []string{"mesh__*"}, "model": "builtin/scripted"})
	turn := c.Turn(c.Session("helper"), "call:mesh__uuid {} then say:done")
	if end := c.Wait(turn); end.Str("output") != "done" {
		t.Errorf("turn %v", end)
	}
	conn, err := grpc.NewClient(m.Endpoint("sessions"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	token, err := m.Keyring().Sign(authn.Service("worker"))
	if err != nil {
		t.Fatal(err)
	}
	ctx := metadata.AppendToOutgoingContext(t.Context(), authn.Header, token)
	_, err = executionv1.NewExecutionServiceClient(conn).GetOutcomes(ctx, &executionv1.GetOutcomesRequest{TurnId: turn})
	if status.Code(err) != codes.Unauthenticated {
		t.Errorf("a mesh token without a certificate: %v", err)
	}
	for _, service := range []string{"grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"} {
		if code, _ := bare(t, conn, "/"+service+"/ServerReflectionInfo"); code != codes.Unimplemented {
			t.Errorf("%s answers %s", service, code)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.Base+"/debug/pprof/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound {
		t.Errorf("profiles: %s", resp.Status)
	}
}
