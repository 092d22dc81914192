package peercred

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// The messages of sock_diag(7), which no package that we use has.
const (
	sockDiagByFamily = 20
	requestSize      = 56 // struct inet_diag_req_v2
	answerSize       = 72 // struct inet_diag_msg
	noCookie         = 0xffffffff
)

// socket is what the kernel reports about a socket.
type socket struct {
	state uint8
	uid   uint32
	inode uint32
}

// open reports whether a process holds the socket, so that its user is known, and the socket is connected: a lookup without a connected
// socket finds a listening one of the same port.
func (s socket) open() bool {
	switch s.state {
	case unix.BPF_TCP_ESTABLISHED, unix.BPF_TCP_CLOSE_WAIT, unix.BPF_TCP_FIN_WAIT1, unix.BPF_TCP_FIN_WAIT2:
		return s.inode != 0
	}
	return false
}

var errAnswer = errors.New("unexpected answer from sock_diag")

// lookup asks the kernel for the TCP socket with these addresses.
func lookup(local, remote netip.AddrPort) (socket, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return socket{}, fmt.Errorf("open sock_diag: %w", err)
	}
	defer func() { _ = unix.Close(fd) }() // nothing is buffered
	timeout := unix.Timeval{Sec: 1}       // the kernel answers within sendto; this is for the case that it does not
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout); err != nil {
		return socket{}, fmt.Errorf("set timeout of sock_diag: %w", err)
	}
	if err := unix.Sendto(fd, request(local, remote), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return socket{}, fmt.Errorf("ask sock_diag: %w", err)
	}
	var buf [8 << 10]byte
	n, from, err := unix.Recvfrom(fd, buf[:], 0)
	if err != nil {
		return socket{}, fmt.Errorf("read sock_diag: %w", err)
	}
	if nl, ok := from.(*unix.SockaddrNetlink); !ok || nl.Pid != 0 {
		return socket{}, errAnswer // not from the kernel
	}
	return answer(buf[:n], local, remote)
}

// request is a netlink message with a struct inet_diag_req_v2 that names one socket.
func request(local, remote netip.AddrPort) []byte {
	b := make([]byte, unix.NLMSG_HDRLEN+requestSize)
	ne := binary.NativeEndian
	ne.PutUint32(b[0:], uint32(len(b)))
	ne.PutUint16(b[4:], sockDiagByFamily)
	ne.PutUint16(b[6:], unix.NLM_F_REQUEST)
	r := b[unix.NLMSG_HDRLEN:]
	r[0], r[1] = unix.AF_INET, unix.IPPROTO_TCP
	if local.Addr().Is6() {
		r[0] = unix.AF_INET6
	}
	ne.PutUint32(r[4:], 0xffffffff) // all states
	putID(r[8:], local, remote)
	ne.PutUint32(r[48:], noCookie)
	ne.PutUint32(r[52:], noCookie)
	return b
}

// putID writes the ports and addresses of a struct inet_diag_sockid, which are in network byte order.
func putID(b []byte, local, remote netip.AddrPort) {
	binary.BigEndian.PutUint16(b[0:], local.Port())
	binary.BigEndian.PutUint16(b[2:], remote.Port())
	copy(b[4:20], local.Addr().AsSlice())
	copy(b[20:36], remote.Addr().AsSlice())
}

// answer reads a struct inet_diag_msg about the socket that was asked for.
func answer(b []byte, local, remote netip.AddrPort) (socket, error) {
	if len(b) < unix.NLMSG_HDRLEN+answerSize {
		return socket{}, errAnswer // an error message is shorter
	}
	ne := binary.NativeEndian
	if ne.Uint16(b[4:]) != sockDiagByFamily {
		return socket{}, errAnswer
	}
	m := b[unix.NLMSG_HDRLEN:]
	if gotLocal, gotRemote := ids(m); gotLocal != local || gotRemote != remote {
		return socket{}, errAnswer // a listening socket
	}
	return socket{state: m[1], uid: ne.Uint32(m[64:]), inode: ne.Uint32(m[68:])}, nil
}

// ids returns the addresses of a struct inet_diag_msg.
func ids(m []byte) (local, remote netip.AddrPort) {
	size := 4
	if m[0] == unix.AF_INET6 {
		size = 16
	}
	at := func(port, addr int) netip.AddrPort {
		ip, _ := netip.AddrFromSlice(m[addr : addr+size])
		return netip.AddrPortFrom(ip.Unmap(), binary.BigEndian.Uint16(m[port:]))
	}
	return at(4, 8), at(6, 24)
}
