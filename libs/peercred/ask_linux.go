package peercred

import (
	"net"
	"net/netip"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// overflowUID is what the kernel reports for users that our user namespace does not know: many users look the same.
const overflowUID = 65534

// ask looks up the peer's socket, whose local address is remote. The answer counts only if our own socket is still connected afterwards: as
// long as it is, no other socket can have these two addresses.
func ask(conn net.Conn, local, remote netip.AddrPort) seen {
	first, err := lookup(remote, local)
	if err != nil || !first.open() {
		return seen{}
	}
	if first.uid == 0 {
		// Kernels before 6.17 report user 0 for a socket that is being closed. One that is still open was not being closed the first time.
		again, err := lookup(remote, local)
		if err != nil || !again.open() || again.inode != first.inode {
			return seen{}
		}
	}
	own := os.Geteuid()
	switch {
	case !connected(conn), first.uid == overflowUID && own == overflowUID:
		return seen{}
	case int64(first.uid) == int64(own):
		return seen{Same, first.uid}
	default:
		return seen{Other, first.uid}
	}
}

// connected reports whether our side of the connection is still established, or only the peer has finished sending.
func connected(conn net.Conn) bool {
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return false
	}
	var info *unix.TCPInfo
	var infoErr error
	if err := raw.Control(func(fd uintptr) {
		info, infoErr = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
	}); err != nil || infoErr != nil {
		return false
	}
	return info.State == unix.BPF_TCP_ESTABLISHED || info.State == unix.BPF_TCP_CLOSE_WAIT
}
