//go:build unix && !linux

package process

import "syscall"

// attributes puts the child into its own process group.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
