// Package testtemporal starts Temporal servers for tests.
package testtemporal

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// programs names the variable with the folder where `make test` puts the programs that tests start.
const programs = "WINDLASS_TEST_BIN"

// Server starts the dev server with further flags and returns its address. It stops when the test ends. Without the dev server's program
// the test is skipped; `make test` always has it.
func Server(t testing.TB, flags ...string) string {
	t.Helper()
	dir := os.Getenv(programs)
	if dir == "" {
		t.Skipf("%s is not set: no Temporal server to test with (make test sets it)", programs)
	}
	flags = append([]string{"--port", "0", "--headless", "--exit-with-parent", "--log-level", "error"}, flags...)
	cmd := exec.Command(filepath.Join(dir, "windlass-temporal"), flags...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start the Temporal server: %v", err)
	}
	t.Cleanup(func() {
		_ = in.Close() // its sign to stop
		if err := cmd.Wait(); err != nil && !errors.Is(err, io.EOF) {
			t.Logf("temporal server: %v", err)
		}
	})
	var ready struct {
		Address string `json:"address"`
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err != nil {
		t.Fatalf("the Temporal server did not come up: %v", err)
	}
	return ready.Address
}
