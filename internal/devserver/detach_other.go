//go:build !unix

package devserver

import (
	"os"
	"os/exec"
)

func detach(*exec.Cmd) {}

// terminate kills the child: there is no graceful way here.
func terminate(p *os.Process) error { return p.Kill() }
