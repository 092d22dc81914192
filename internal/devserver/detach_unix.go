//go:build unix

package devserver

import (
	"os"
	"os/exec"
	"syscall"
)

// detach puts the child into its own process group: Ctrl-C reaches us, and we stop the child in order.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// terminate asks the child to stop gracefully.
func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
