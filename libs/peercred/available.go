package peercred

import (
	"context"
	"errors"
	"net"
)

// Available reports whether the kernel identifies the user at the other end of a connection. It asks about one of this process to itself.
func Available(ctx context.Context) (_ bool, err error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	own, err := (&net.Dialer{}).DialContext(ctx, "tcp", l.Addr().String())
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, own.Close()) }()
	for {
		accepted, err := l.Accept()
		if err != nil {
			return false, err
		}
		ours, who := accepted.RemoteAddr().String() == own.LocalAddr().String(), Of(accepted)
		if err := accepted.Close(); err != nil {
			return false, err
		}
		if ours { // another process may have been faster
			return who == Same, nil
		}
	}
}
