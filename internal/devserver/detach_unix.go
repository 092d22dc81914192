//go:build unix

package devserver

import (
	"os"
	"os/exec"
	"syscall"
)

// detach puts the child into a process group of its own: Ctrl-C reaches us, and we stop the child in our order.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// terminate asks the child for an orderly stop.
func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
