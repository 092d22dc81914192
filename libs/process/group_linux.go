package process

import "syscall"

// attributes puts the child into a process group of its own, and has the kernel kill it when we die.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
