//go:build !unix

package process

import (
	"os"
	"syscall"
)

func attributes() *syscall.SysProcAttr { return nil }

// terminateGroup ends the child: there is no polite way here.
func terminateGroup(p *os.Process) { killGroup(p) }

func killGroup(p *os.Process) {
	_ = p.Kill() // over already is what we want
}
