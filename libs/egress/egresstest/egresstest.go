// Package egresstest has what tests need to show that nothing inside a network is reached: spellings of private addresses, a server that
// must not be called, and a DNS server of their own.
package egresstest

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/windlass-dev/windlass/libs/egress"
)

// Hosts are spellings of addresses that the profile public never dials, as they are written in URLs. With Resolver, names resolve to
// addresses of this machine.
func Hosts() []string {
	return []string{
		"127.0.0.1", "127.0.0.2", "127.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "017700000001", "127.0.0.1.", "0", "0.0.0.0",
		"localhost", "LOCALHOST", "localhost.", "a.localhost", "private.example", "PRIVATE.example.", "good.example@127.0.0.1",
		"127.0.0.1%00.good.example", "１２７.０.０.１",
		"[::1]", "[0:0:0:0:0:0:0:1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]",
		"[64:ff9b:1::7f00:1]", "[2002:7f00:1::]", "[::1%25lo]",
		"10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1", "192.0.0.1", "198.18.0.1", "240.0.0.1", "224.0.0.1", "255.255.255.255",
		"[fd00::1]", "[fe80::1]", "[fe80::1%25lo]", "[fec0::1]", "[ff02::1]",
		"169.254.169.254", "[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]", "[fd00:ec2::254]", "100.100.100.200",
	}
}

// Trap is a server at all addresses of this machine that nothing may connect to.
type Trap struct {
	port     int
	accepted atomic.Int64
}

// NewTrap starts one.
func NewTrap(t testing.TB) *Trap {
	t.Helper()
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	trap := &Trap{port: l.Addr().(*net.TCPAddr).Port}
	server := &httptest.Server{Listener: l, Config: &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }),
		ConnState: func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew {
				trap.accepted.Add(1)
			}
		},
	}}
	server.Start()
	t.Cleanup(server.Close)
	return trap
}

// URL is the trap's URL with another spelling of its host.
func (trap *Trap) URL(host string) string {
	return "http://" + host + ":" + strconv.Itoa(trap.port) + "/"
}

// Accepted returns the number of connections since the last call.
func (trap *Trap) Accepted() int64 { return trap.accepted.Swap(0) }

// Inside is the one address of this machine that Public allows: what a test serves there counts as the public network.
var Inside = netip.MustParseAddr("127.0.0.9")

// Public returns an Egress of the profile public that may dial Inside besides, and whose names are resolved by answer. If it is nil, all
// names but good.example are 127.0.0.1, and good.example is Inside.
func Public(t testing.TB, answer func(name string) netip.Addr) *egress.Egress {
	t.Helper()
	if answer == nil {
		answer = func(name string) netip.Addr {
			if name == "good.example" {
				return Inside
			}
			return netip.MustParseAddr("127.0.0.1")
		}
	}
	e, err := egress.New(egress.Config{
		Profile: egress.Public, Allow: []netip.Prefix{netip.PrefixFrom(Inside, Inside.BitLen())}, Resolver: resolver(answer),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.CloseIdle)
	return e
}

// Serve starts a server at Inside and returns its URL with the host good.example.
func Serve(t testing.TB, h http.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(Inside.String(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: h}}
	server.Start()
	t.Cleanup(server.Close)
	return strings.Replace(server.URL, Inside.String(), "good.example", 1)
}

// resolver answers in the process: a connection of it is a pipe that speaks DNS over TCP.
func resolver(answer func(name string) netip.Addr) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer ours.Close()
			var err error
			for err == nil {
				err = resolveOne(ours, answer)
			}
		}()
		return theirs, nil
	}}
}

func resolveOne(conn net.Conn, answer func(name string) netip.Addr) error {
	var size [2]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return err
	}
	raw := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(conn, raw); err != nil {
		return err
	}
	var m dnsmessage.Message
	if err := m.Unpack(raw); err != nil {
		return err
	}
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
		addr := answer(strings.ToLower(strings.TrimSuffix(q.Name.String(), ".")))
		m.Answers = append(m.Answers, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}, Body: &dnsmessage.AResource{A: addr.As4()},
		})
	}
	out, err := m.AppendPack(make([]byte, 2))
	if err != nil {
		return err
	}
	binary.BigEndian.PutUint16(out, uint16(len(out)-2))
	_, err = conn.Write(out)
	return err
}
