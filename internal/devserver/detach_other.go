//go:build !unix

package devserver

import "os/exec"

func detach(*exec.Cmd) {}
