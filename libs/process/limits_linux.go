package process

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// limit bounds a process that has just been started. It leaves no core files, which would hold the secrets of its environment.
func limit(pid int, l Limits) error {
	limits := map[int]uint64{
		unix.RLIMIT_DATA: uint64(l.Memory), unix.RLIMIT_AS: uint64(l.AddressSpace), unix.RLIMIT_CPU: uint64(l.CPU.Seconds()),
		unix.RLIMIT_NOFILE: uint64(l.Files), unix.RLIMIT_NPROC: uint64(l.Processes),
	}
	for resource, value := range limits {
		if value == 0 {
			delete(limits, resource)
		}
	}
	limits[unix.RLIMIT_CORE] = 0
	for resource, value := range limits {
		bound := unix.Rlimit{Cur: value, Max: value}
		var now unix.Rlimit
		if err := unix.Prlimit(pid, resource, nil, &now); err != nil {
			return fmt.Errorf("read resource limit %d: %w", resource, err)
		}
		bound.Max = min(bound.Max, now.Max) // what bounds us bounds the child already, and only root may raise it
		bound.Cur = min(bound.Cur, bound.Max)
		if err := unix.Prlimit(pid, resource, &bound, nil); err != nil {
			return fmt.Errorf("set resource limit %d: %w", resource, err)
		}
	}
	return nil
}
