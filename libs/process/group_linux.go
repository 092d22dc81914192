package process

import "syscall"

// attributes puts the child into its own process group, and has the kernel kill it when we die.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
