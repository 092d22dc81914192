package peercred_test

import (
	"net"
	"testing"

	"github.com/windlass-dev/windlass/libs/peercred"
)

func TestAPeerThatIsNotOnLoopbackIsRemote(t *testing.T) {
	far := fakeConn{local: "192.0.2.1:80", remote: "192.0.2.2:4000"}
	if got := peercred.Of(far); got != peercred.Remote {
		t.Errorf("the peer is %s", got)
	}
	// A remote host that forges a loopback source address, and a connection that is no TCP socket of ours.
	if got := peercred.Of(fakeConn{local: "192.0.2.1:80", remote: "127.0.0.1:4000"}); got != peercred.Remote {
		t.Errorf("the peer is %s", got)
	}
	if got := peercred.Of(fakeConn{local: "127.0.0.1:80", remote: "127.0.0.1:4000"}); got != peercred.Unknown {
		t.Errorf("the peer is %s", got)
	}
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if got := peercred.Of(a); got != peercred.Unknown {
		t.Errorf("the peer is %s", got)
	}
}

type fakeConn struct {
	net.Conn
	local, remote string
}

func (c fakeConn) LocalAddr() net.Addr  { return addr(c.local) }
func (c fakeConn) RemoteAddr() net.Addr { return addr(c.remote) }

func addr(s string) net.Addr {
	a, err := net.ResolveTCPAddr("tcp", s)
	if err != nil {
		panic(err)
	}
	return a
}
