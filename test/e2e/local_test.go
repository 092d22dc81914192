package e2e_test

import (
	"net/http"
	"os"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/windlass-dev/windlass/libs/peercred/peercredtest"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/test/harness"
)

// Where the other user's process finds the mesh.
const (
	otherHTTP = "WINDLASS_TEST_OTHER_HTTP"
	otherGRPC = "WINDLASS_TEST_OTHER_GRPC"
)

// TestCallAsOther is the process of another user of this machine, which nobody knows without a token.
func TestCallAsOther(t *testing.T) {
	if os.Getenv(otherHTTP) == "" {
		t.Skip("a part of TestOnlyTheOwnUserIsLocal")
	}
	for path, want := range map[string]int{"/healthz": 200, "/v1/me": 401, "/v1/sessions": 401, "/mcp": 401} {
		if got := statusOf(t, os.Getenv(otherHTTP)+path); got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
	if got := listByGRPC(t, os.Getenv(otherGRPC)); got != codes.Unauthenticated {
		t.Errorf("gRPC: %s", got)
	}
}

func TestOnlyTheOwnUserIsLocal(t *testing.T) {
	t.Parallel()
	p := harness.Up(t, t.TempDir(), []string{"WINDLASS_INFERENCE_DETECT=false"}, "--issuer-addr", "off")
	addr, _ := p.Ready["grpc"].(string)
	if got := statusOf(t, p.Client.Base+"/v1/me"); got != 200 {
		t.Errorf("our own user: %d", got)
	}
	if got := listByGRPC(t, addr); got != codes.OK {
		t.Errorf("our own user over gRPC: %s", got)
	}
	other := peercredtest.Other(t, "TestCallAsOther", otherHTTP+"="+p.Client.Base, otherGRPC+"="+addr)
	if out, err := other.CombinedOutput(); err != nil {
		t.Errorf("another user: %v\n%s", err, out)
	}
}

func statusOf(t *testing.T, url string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
	return resp.StatusCode
}

func listByGRPC(t *testing.T, addr string) codes.Code {
	t.Helper()
	return listByGRPCWith(t, addr, nil)
}

func listByGRPCWith(t *testing.T, addr string, md metadata.MD) codes.Code {
	t.Helper()
	return listByGRPCAs(t, addr, addr, md)
}

// listByGRPCAs calls a server by another name.
func listByGRPCAs(t *testing.T, addr, authority string, md metadata.MD) codes.Code {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority(authority))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx := metadata.NewOutgoingContext(t.Context(), md)
	_, err = sessionsv1.NewSessionServiceClient(conn).ListSessions(ctx, &sessionsv1.ListSessionsRequest{})
	return status.Code(err)
}
