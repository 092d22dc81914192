//go:build unix

// Package peercredtest runs test code as another operating-system user.
package peercredtest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// nobody is the account of the child processes.
const nobody = 65534

// Other returns a command that runs one test of the calling test's binary in a process of another user. The test is skipped if this process
// may not start one.
func Other(t testing.TB, run string, env ...string) *exec.Cmd {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can start a process as another user")
	}
	dir, err := os.MkdirTemp("", "peercredtest") //nolint:usetesting // the other user may not enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	bin := filepath.Join(dir, "test.bin")
	self, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	// A process that another test starts meanwhile would have the file open for writing, and a file that is cannot be run.
	syscall.ForkLock.RLock()
	err = os.WriteFile(bin, self, 0o755)
	syscall.ForkLock.RUnlock()
	if err := errors.Join(err, os.Chmod(dir, 0o555)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), bin, "-test.run=^"+run+"$")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return cmd
}
