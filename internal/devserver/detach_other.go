//go:build !unix

package devserver

import (
	"os"
	"os/exec"
)

func detach(*exec.Cmd) {}

// terminate ends the child: there is no gentler way here.
func terminate(p *os.Process) error { return p.Kill() }
