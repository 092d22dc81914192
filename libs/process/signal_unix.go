//go:build unix

package process

import (
	"os"
	"syscall"
)

// terminateGroup asks the child and all it started to end.
func terminateGroup(p *os.Process) { signalGroup(p, syscall.SIGTERM) }

// killGroup ends the child and all it started.
func killGroup(p *os.Process) { signalGroup(p, syscall.SIGKILL) }

func signalGroup(p *os.Process, sig syscall.Signal) {
	_ = syscall.Kill(-p.Pid, sig) // an empty group is what we want
}
