package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/coreos/go-oidc/v3/oidc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/windlass-dev/windlass/libs/testnpm"
	"github.com/windlass-dev/windlass/services/registry/grpcapi/grpctest"
	"github.com/windlass-dev/windlass/test/harness"
)

// arrival is a request at a server that verifies tokens: its method, the claims of its token, and all that was sent along.
type arrival struct {
	Method string
	Claims struct {
		Sub string
		Aud any
		Act struct{ Sub string }
	}
	Sent string
}

// arrivals are the requests that a server has accepted.
type arrivals struct {
	mu  sync.Mutex
	all []arrival
}

func (a *arrivals) add(one arrival) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all = append(a.all, one)
}

// check fails unless syncs were made by lister, and calls with a token for orders, of alice through the mesh, without her own token.
func (a *arrivals) check(t *testing.T, isCall func(method string) bool, calls int, canary string) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.all {
		who := fmt.Sprint(one.Claims.Sub, " through ", one.Claims.Act.Sub, " at ", one.Claims.Aud)
		ofAlice := who == "alice through windlass-mesh at [orders]"
		if isCall(one.Method) {
			calls--
		}
		if isCall(one.Method) && !ofAlice || !ofAlice && who != "lister through  at [orders]" {
			t.Errorf("%s by %s", one.Method, who)
		}
		if strings.Contains(one.Sent, canary) {
			t.Errorf("%s has alice's own token: %s", one.Method, one.Sent)
		}
	}
	if calls != 0 {
		t.Errorf("%d calls are missing: %v", calls, a.all)
	}
}

// bearerServer starts an MCP server of the TypeScript SDK that verifies tokens of an issuer for the audience orders.
func bearerServer(t *testing.T, issuer string) (url string, seen *arrivals) {
	t.Helper()
	suite, _, sdk := testnpm.Conformance(t)
	dir := t.TempDir()
	source, err := os.ReadFile(filepath.Join("testdata", "bearer.mjs"))
	harness.Must(t, err)
	harness.Must(t, os.WriteFile(filepath.Join(dir, "bearer.mjs"), source, 0o600))
	harness.Must(t, os.Symlink(filepath.Join(sdk, "node_modules"), filepath.Join(dir, "node_modules")))
	cmd := exec.Command(suite[0], filepath.Join(dir, "bearer.mjs"), issuer, "orders")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	harness.Must(t, err)
	harness.Must(t, cmd.Start())
	seen = &arrivals{}
	lines, read := bufio.NewScanner(out), make(chan bool)
	lines.Buffer(nil, 1<<20)
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // may already be gone
		<-read
		_ = cmd.Wait() // "signal: killed"
	})
	if !lines.Scan() {
		close(read)
		t.Fatalf("the server does not start: %v", lines.Err())
	}
	url = lines.Text()
	go func() {
		defer close(read)
		for lines.Scan() {
			var one arrival
			if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
				t.Errorf("%v: %s", err, lines.Text())
			}
			seen.add(one)
		}
	}()
	return url, seen
}

// bearerGRPC starts a gRPC server with reflection that verifies tokens of an issuer for the audience orders, also of reflection.
func bearerGRPC(t *testing.T, issuer string) (address string, seen *arrivals) {
	t.Helper()
	provider, err := oidc.NewProvider(t.Context(), issuer)
	harness.Must(t, err)
	verifier := provider.VerifierContext(t.Context(), &oidc.Config{ClientID: "orders"})
	seen = &arrivals{}
	server := grpctest.Serve(t, grpctest.Options{Reflection: "v1", Server: []grpc.ServerOption{
		grpc.StreamInterceptor(func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
			md, _ := metadata.FromIncomingContext(stream.Context())
			token, err := verifier.Verify(stream.Context(), strings.TrimPrefix(strings.Join(md.Get("authorization"), " "), "Bearer "))
			if err != nil {
				return status.Error(codes.Unauthenticated, "a token for orders is required")
			}
			one := arrival{Method: info.FullMethod, Sent: fmt.Sprint(md)}
			if err := token.Claims(&one.Claims); err != nil {
				return status.Error(codes.Internal, err.Error())
			}
			seen.add(one)
			return handle(srv, stream)
		}),
	}})
	return "grpc://" + server.Address, seen
}

const listerConfig = `identity:
  issuer:
    clients:
    - {id: lister, secret: %s, grants: [client_credentials], audiences: [orders]}
`

// TestS3ServersThatVerifyTokens: an MCP server and a gRPC server verify the signature, issuer and audience of each token. They get the
// mesh's own client in syncs, and in calls a token for themselves with alice as subject and the mesh as actor. The token with which alice
// calls is nowhere: not at the servers, and in no file of the mesh.
func TestS3ServersThatVerifyTokens(t *testing.T) {
	t.Parallel()
	const secret = "the-secret-of-lister-1234"
	config := filepath.Join(t.TempDir(), "windlass.yaml")
	harness.Must(t, os.WriteFile(config, fmt.Appendf(nil, listerConfig, secret), 0o600))
	p := newLoginsWith(t, []string{"WINDLASS_TOOL_LISTER=" + secret}, "--config", config)
	mcpURL, mcpSeen := bearerServer(t, p.issuer)
	grpcURL, grpcSeen := bearerGRPC(t, p.issuer)
	sync := harness.JSON{
		"kind": "oauth2_client_credentials", "token_url": p.issuer + "/token", "client_id": "lister", "secret": "${env:WINDLASS_TOOL_LISTER}",
	}
	for name, spec := range map[string]harness.JSON{"ledger": {"kind": "mcp", "url": mcpURL}, "shop": {"kind": "grpc", "url": grpcURL}} {
		spec["name"], spec["auth"], spec["cache"] = name, harness.JSON{"kind": "exchange", "audience": "orders"}, harness.JSON{"disabled": true}
		// Without a credential these servers list nothing.
		if made := p.Client.Must("POST", "/v1/sources", spec); made.Str("last_error") == "" {
			t.Errorf("%s without a credential for syncs: %v", name, made)
		}
		made := p.Client.Must("PATCH", "/v1/sources/"+name, harness.JSON{"sync_auth": sync})
		if made.Str("last_error") != "" || made["tool_count"].(float64) < 1 {
			t.Fatalf("%s: %v", name, made)
		}
	}
	p.logIn("alice")
	canary := p.tokens("alice").AccessToken
	if out := p.says("alice", "tool", "invoke", "ledger__whoami"); !strings.Contains(out, "you are alice through windlass-mesh") {
		t.Errorf("a direct call: %s", out)
	}
	p.says("alice", "tool", "invoke", "shop__Orders_GetOrder", `{"id":"7"}`)
	p.Client.Must("POST", "/v1/agents", harness.JSON{"id": "clerk", "model": "builtin/scripted", "tools": []string{"ledger__*", "shop__*"}})
	out := p.says("alice", "chat", "--agent", "clerk", `call:ledger__whoami then call:shop__Orders_GetOrder {"id":"8"}`)
	if !strings.Contains(out, "you are alice through windlass-mesh") || strings.Contains(out, "✗") {
		t.Errorf("a turn: %s", out)
	}
	mcpSeen.check(t, func(m string) bool { return m == "tools/call" }, 2, canary)
	grpcSeen.check(t, func(m string) bool { return strings.HasPrefix(m, "/shop.") }, 2, canary)
	if err := p.windlass("local", "tool", "invoke", "ledger__whoami").Run(); err == nil {
		t.Error("the local user, who has no issuer, calls the server")
	}
	mcpSeen.check(t, func(m string) bool { return m == "tools/call" }, 2, canary) // not with the credential for syncs either
	p.absent(canary)
}

// absent fails if a text is in a file of the mesh or in its log.
func (p *logins) absent(canary string) {
	p.t.Helper()
	if strings.Contains(p.Log(), canary) {
		p.t.Errorf("the log has %s", canary)
	}
	err := filepath.WalkDir(p.DataDir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), canary) {
			p.t.Errorf("%s has %s", path, canary)
		}
		return err
	})
	harness.Must(p.t, err)
}
