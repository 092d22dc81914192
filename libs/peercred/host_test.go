package peercred_test

import (
	"net"
	"testing"

	"github.com/windlass-dev/windlass/libs/peercred"
)

func TestLoopbackName(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST:8080": true, "localhost.:80": true, "a.localhost:1": true, "127.0.0.1": true, "127.9.8.7:80": true,
		"[::1]:8080": true, "[::1]": true, "::1": true, "[::ffff:127.0.0.1]:80": true,
		"": false, "evil.example": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false, "10.0.0.1:80": false,
		"notlocalhost": false, "0.0.0.0:80": false, "[::]:80": false,
	} {
		if got := peercred.LoopbackName(host); got != want {
			t.Errorf("LoopbackName(%q) = %t", host, got)
		}
	}
}

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
