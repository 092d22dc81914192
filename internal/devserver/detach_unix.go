//go:build unix

package devserver

import (
	"os/exec"
	"syscall"
)

// detach puts the child into a process group of its own: Ctrl-C reaches us, and we stop the child in our order.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
