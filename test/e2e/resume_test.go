package e2e

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/testnpm"
	"github.com/windlass-dev/windlass/test/harness"
)

// TestUploadsResume lets a public client of the tus protocol send a file, while the mesh is killed twice: the file is whole, and the client
// sends no part again that had arrived.
func TestUploadsResume(t *testing.T) {
	t.Parallel()
	node, modules := testnpm.Tus(t)
	dir := t.TempDir()
	source, err := os.ReadFile(filepath.Join("testdata", "upload.mjs"))
	harness.Must(t, err)
	harness.Must(t, os.WriteFile(filepath.Join(dir, "upload.mjs"), source, 0o600))
	harness.Must(t, os.Symlink(filepath.Join(modules, "node_modules"), filepath.Join(dir, "node_modules")))
	data := make([]byte, 5<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(data) // documented never to fail
	file := filepath.Join(dir, "noise.bin")
	harness.Must(t, os.WriteFile(file, data, 0o600))

	up := harness.Up(t, t.TempDir(), nil)
	again := func() {
		address := strings.TrimPrefix(up.Client.Base, "http://")
		up.Kill()
		up = harness.Up(t, up.DataDir, nil, "--http-addr", address)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := exec.CommandContext(ctx, node, filepath.Join(dir, "upload.mjs"), up.Client.Base+"/v1/uploads", file, "1048576")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	harness.Must(t, err)
	harness.Must(t, cmd.Start())
	var lines []string
	for read := bufio.NewScanner(out); read.Scan(); {
		lines = append(lines, read.Text())
		if len(lines) == 1 || len(lines) == 3 {
			again()
		}
	}
	if err := cmd.Wait(); err != nil || len(lines) != 6 || !strings.HasPrefix(lines[5], "done ") {
		t.Fatalf("the client ended with %v after %q, want five parts", err, lines)
	}
	got := up.Client.Must("GET", "/v1/uploads/"+lines[5][strings.LastIndex(lines[5], "/")+1:], nil)
	sum := sha256.Sum256(data)
	if stored, _ := got["file"].(map[string]any); stored["sha256"] != hex.EncodeToString(sum[:]) || stored["name"] != "noise.bin" {
		t.Errorf("the upload is %v, want a file with the SHA-256 %x", got, sum)
	}
}
