package netfault_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/test/harness/netfault"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

// echo answers each line with itself.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l.Addr().String()
}

func open(t *testing.T, upstream string) *netfault.Link {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = free.Close()
	l, err := netfault.Listen("a", "b", free.Addr().String(), upstream)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func set(t *testing.T, l *netfault.Link, m netfault.Mode) {
	t.Helper()
	if err := l.Set(m); err != nil {
		t.Fatal(err)
	}
}

func TestStalledBytesArriveLater(t *testing.T) {
	for _, m := range []netfault.Mode{netfault.Stall, netfault.HalfUp, netfault.HalfDown} {
		t.Run(string(m), func(t *testing.T) {
			l := open(t, echo(t))
			c, err := net.Dial("tcp", l.Addr())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			set(t, l, m)
			if _, err := c.Write([]byte("hello\n")); err != nil {
				t.Fatal(err)
			}
			_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
			if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
				t.Errorf("%d bytes came through, %v", n, err)
			}
			set(t, l, netfault.Open)
			_ = c.SetReadDeadline(time.Time{})
			if line, err := bufio.NewReader(c).ReadString('\n'); line != "hello\n" {
				t.Errorf("%q, %v", line, err)
			}
		})
	}
}

func TestCutResetsAndRefuses(t *testing.T) {
	l := open(t, echo(t))
	c, err := net.Dial("tcp", l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	set(t, l, netfault.Cut)
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("read: %v, want a reset", err)
	}
	if _, err := net.Dial("tcp", l.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dial: %v, want a refusal", err)
	}
	set(t, l, netfault.Open)
	again, err := net.Dial("tcp", l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	_ = again.Close()
}

func TestHTTPPassesThrough(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }))
	defer server.Close()
	l := open(t, server.Listener.Addr().String())
	body := strings.Repeat("long ", 1<<18)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Post("http://"+l.Addr(), "text/plain", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil || string(got) != body {
		t.Errorf("%d bytes of %d came, %v", len(got), len(body), err)
	}
}
