//go:build !unix

package process

import (
	"os"
	"syscall"
)

func attributes() *syscall.SysProcAttr { return nil }

// terminateGroup kills the child: there is no graceful way here.
func terminateGroup(p *os.Process) { killGroup(p) }

func killGroup(p *os.Process) {
	_ = p.Kill() // already dead is fine
}
