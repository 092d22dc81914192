//go:build unix

package process

import (
	"os"
	"syscall"
)

// terminateGroup sends SIGTERM to the child and its descendants.
func terminateGroup(p *os.Process) { signalGroup(p, syscall.SIGTERM) }

// killGroup sends SIGKILL to the child and its descendants.
func killGroup(p *os.Process) { signalGroup(p, syscall.SIGKILL) }

func signalGroup(p *os.Process, sig syscall.Signal) {
	_ = syscall.Kill(-p.Pid, sig) // an empty group is fine
}
