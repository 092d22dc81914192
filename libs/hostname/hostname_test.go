package hostname_test

import (
	"net"
	"slices"
	"testing"

	"github.com/windlass-dev/windlass/libs/hostname"
)

func TestAllow(t *testing.T) {
	n, err := hostname.New("Windlass.example.com", ".mesh.internal", "192.0.2.7", "2001:db8::1")
	if err != nil {
		t.Fatal(err)
	}
	local := &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 8080}
	for host, want := range map[string]bool{
		"localhost": true, "localhost:8080": true, "127.0.0.1": true, "[::1]:1": true, "a.localhost": true,
		"windlass.example.com": true, "WINDLASS.EXAMPLE.COM.:443": true, "sessions.mesh.internal:9091": true, "192.0.2.7:1": true,
		"[2001:db8::1]:8080": true, "10.1.2.3:8080": true, "10.1.2.3": true,
		"": false, ":8080": false, "evil.example": false, "windlass.example.com.evil.example": false, "mesh.internal": false,
		"evilmesh.internal": false, "10.1.2.4": false, "192.0.2.8": false, "localhost.evil.example": false, "null": false,
		"windlass.example.com@evil.example": false,
	} {
		if got := n.Allow(host, local); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
	if n.Allow("10.1.2.3", nil) || (hostname.Names{}).Allow("windlass.example.com", local) || !(hostname.Names{}).Allow("localhost", nil) {
		t.Error("without a connection, or without names")
	}
	if n, err := hostname.New(hostname.Any); err != nil || !n.Allow("evil.example", nil) {
		t.Errorf("any: %v", err)
	}
	for _, bad := range []string{"", "a:80", "http://a", "*.a", "a b", "a@b"} {
		if _, err := hostname.New(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestHostsOfAddresses(t *testing.T) {
	for target, want := range map[string][]string{
		"sessions:9091": {"sessions"}, "dns:///sessions.ns.svc:9091": {"sessions.ns.svc"}, "a:1, b:2": {"a", "b"}, "[::1]:1": {"::1"},
		"dns://1.1.1.1/a": {"a"}, "": nil,
	} {
		if got := hostname.OfTarget(target); !slices.Equal(got, want) {
			t.Errorf("%q: %q", target, got)
		}
	}
	if got := hostname.OfURL("https://a.example:8443/x"); !slices.Equal(got, []string{"a.example"}) || hostname.OfURL("") != nil {
		t.Errorf("%q", got)
	}
}
