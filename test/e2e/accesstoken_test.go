package e2e_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/windlass-dev/windlass/test/harness"
)

// TestTheTokenWhereTheKernelDoesNotTell runs windlass up in a user namespace without a map, where all users look the same, as everywhere
// but on Linux: a connection on loopback is nobody then, and the token in the data directory is the local user.
func TestTheTokenWhereTheKernelDoesNotTell(t *testing.T) {
	t.Parallel()
	unshare, err := exec.LookPath("unshare")
	if err != nil || exec.CommandContext(t.Context(), unshare, "-U", "true").Run() != nil {
		t.Skip("no user namespaces on this machine")
	}
	project := t.TempDir()
	p := harness.Launch(t, "windlass up", []string{"WINDLASS_INFERENCE_DETECT=false"}, unshare, "-U", harness.Bin(t, "windlass"),
		"up", "-o", "json", "--data-dir", filepath.Join(project, ".windlass"), "--http-addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0",
		"--temporal-addr", "127.0.0.1:0", "--temporal-ui-addr", "127.0.0.1:0", "--issuer-addr", "off")
	p.Await()
	url, grpcAddr, file := text(p, "url"), text(p, "grpc"), text(p, "token_file")
	if p.Ready["needs_token"] != true {
		t.Errorf("ready line %v", p.Ready)
	}
	if got := statusOf(t, url+"/v1/me"); got != http.StatusUnauthorized {
		t.Errorf("without a token: %d", got)
	}
	if got := listByGRPC(t, grpcAddr); got != codes.Unauthenticated {
		t.Errorf("without a token over gRPC: %s", got)
	}
	token, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	bearer := "Bearer " + strings.TrimSpace(string(token))
	c := harness.NewClient(t, url)
	if me := c.Must("GET", "/v1/me", nil, "Authorization", bearer); me.Str("subject") != "local" {
		t.Errorf("the token is %v", me)
	}
	if status, _, err := c.Do(t.Context(), "GET", "/v1/me", nil, "Authorization", bearer+"0"); err != nil || status != 401 {
		t.Errorf("a wrong token: %d, %v", status, err)
	}
	if got := listByGRPCWith(t, grpcAddr, metadata.Pairs("authorization", bearer)); got != codes.OK {
		t.Errorf("the token over gRPC: %s", got)
	}
	// The command line finds the token by itself, in the folder of the data directory or below.
	below := filepath.Join(project, "below")
	if err := os.Mkdir(below, 0o700); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{project: "local", below: "local", t.TempDir(): "no credentials"} {
		cmd := exec.CommandContext(t.Context(), harness.Bin(t, "windlass"), "whoami", "--server", url)
		cmd.Dir, cmd.Env = dir, []string{"HOME=" + t.TempDir(), harness.RaceOptions}
		if out, _ := cmd.CombinedOutput(); !strings.Contains(string(out), want) {
			t.Errorf("whoami in %s: %s, want %q", dir, out, want)
		}
	}
	if strings.Contains(p.Log(), "wlt_") {
		t.Error("the token is in the log")
	}
	if !strings.Contains(p.Log(), "the kernel does not tell who calls") {
		t.Errorf("no warning: %s", p.Log())
	}
}

func text(p *harness.Process, key string) string {
	s, _ := p.Ready[key].(string)
	return s
}
