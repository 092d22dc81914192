package egress_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"

	"github.com/windlass-dev/windlass/libs/egress"
)

// breaking is an HTTP/1 server that answers /warm, counts any other request, and closes its connection without an answer.
type breaking struct {
	url    string
	counts atomic.Int32
	heads  sync.Map // request line and headers, by path
}

func newBreaking(t *testing.T, end func(*net.TCPConn)) *breaking {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &breaking{url: "http://" + l.Addr().String()}
	var open sync.WaitGroup
	open.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() { b.serve(conn.(*net.TCPConn), end) })
		}
	})
	t.Cleanup(func() { l.Close(); open.Wait() })
	return b
}

func (b *breaking) serve(conn *net.TCPConn, end func(*net.TCPConn)) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, req.Body)
		if req.URL.Path != "/warm" {
			b.counts.Add(1)
			b.heads.Store(req.URL.Path, fmt.Sprint(req.ContentLength, req.TransferEncoding, req.Header["Idempotency-Key"]))
			end(conn)
			return
		}
		fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	}
}

var endings = map[string]func(*net.TCPConn){
	"closes": func(*net.TCPConn) {},
	"resets": func(c *net.TCPConn) { _ = c.SetLinger(0) },
	"shuts down": func(c *net.TCPConn) {
		_ = c.CloseWrite()
		_, _ = io.Copy(io.Discard, c)
	},
	"half an answer": func(c *net.TCPConn) { fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-") },
}

func send(t *testing.T, c *http.Client, method, url, body, key string) error {
	t.Helper()
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url, in)
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	res, err := c.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, res.Body)
	return errors.Join(err, res.Body.Close())
}

func TestARequestIsSentOnceOverAReusedConnection(t *testing.T) {
	for how, end := range endings {
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "GET"} {
			for _, body := range []string{"", "{}"} {
				t.Run(method+" "+body+" "+how, func(t *testing.T) {
					b := newBreaking(t, end)
					c := newEgress(t, egress.Config{Profile: egress.Local}).Client(egress.Options{})
					if err := send(t, c, "GET", b.url+"/warm", "", ""); err != nil {
						t.Fatal(err)
					}
					err := send(t, c, method, b.url+"/act", body, "key-1")
					if err == nil || egress.NotSent(err) || b.counts.Load() != 1 {
						t.Errorf("%d requests, error %v", b.counts.Load(), err)
					}
				})
			}
		}
	}
}

func TestAGetIsSentOnceForAClientThatSaysSo(t *testing.T) {
	for how, end := range endings {
		b := newBreaking(t, end)
		c := newEgress(t, egress.Config{Profile: egress.Local}).Client(egress.Options{Once: true})
		if err := send(t, c, "GET", b.url+"/warm", "", ""); err != nil {
			t.Fatal(err)
		}
		if err := send(t, c, "GET", b.url+"/act", "", ""); err == nil || egress.NotSent(err) || b.counts.Load() != 1 {
			t.Errorf("%s: %d requests, error %v", how, b.counts.Load(), err)
		}
		if got, _ := b.heads.Load("/act"); got != "0 [] []" {
			t.Errorf("%s: the server saw %v", how, got)
		}
	}
}

func TestARequestWithoutABodyLooksLikeOne(t *testing.T) {
	for method, want := range map[string]string{
		"POST": "0 [] [key-1]", "PUT": "0 [] [key-1]", "PATCH": "0 [] [key-1]", "DELETE": "0 [] [key-1]", "GET": "0 [] [key-1]",
	} {
		b := newBreaking(t, endings["closes"])
		c := newEgress(t, egress.Config{Profile: egress.Local}).Client(egress.Options{})
		_ = send(t, c, method, b.url+"/act", "", "key-1")
		if got, _ := b.heads.Load("/act"); got != want {
			t.Errorf("%s: the server saw %v, want %s", method, got, want)
		}
	}
	length := make(chan string, 1)
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { length <- r.Header.Get("Content-Length") })
	if err := send(t, newEgress(t, egress.Config{Profile: egress.Local}).Client(egress.Options{}), "POST", s.URL, "", ""); err != nil {
		t.Fatal(err)
	}
	if got := <-length; got != "0" {
		t.Errorf("Content-Length is %q", got)
	}
}

// TestARefusedStreamIsNotSentAgain: an HTTP/2 server may claim that it did not process a request, but only it knows whether that is true.
func TestARefusedStreamIsNotSentAgain(t *testing.T) {
	for how, refuse := range map[string]func(*http2.Framer, uint32) error{
		"refused stream": func(f *http2.Framer, id uint32) error { return f.WriteRSTStream(id, http2.ErrCodeRefusedStream) },
		"goaway":         func(f *http2.Framer, _ uint32) error { return f.WriteGoAway(0, http2.ErrCodeNo, nil) },
		"hang up":        func(*http2.Framer, uint32) error { return io.EOF },
	} {
		for _, body := range []string{"", "{}"} {
			t.Run(how+" "+body, func(t *testing.T) {
				url, roots, count := refusing(t, refuse)
				c := newEgress(t, egress.Config{Profile: egress.Local, CAs: roots}).Client(egress.Options{})
				err := send(t, c, "POST", url, body, "key-1")
				if err == nil || egress.NotSent(err) || count.Load() != 1 || strings.Contains(err.Error(), "GetBody") {
					t.Errorf("%d requests, error %v", count.Load(), err)
				}
			})
		}
	}
}

// refusing is an HTTP/2 server that counts requests and answers none.
func refusing(t *testing.T, refuse func(*http2.Framer, uint32) error) (string, *x509.CertPool, *atomic.Int32) {
	t.Helper()
	certs := httptest.NewTLSServer(nil)
	certs.Close()
	roots := x509.NewCertPool()
	roots.AddCert(certs.Certificate())
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: certs.TLS.Certificates, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	count := &atomic.Int32{}
	var open sync.WaitGroup
	open.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() {
				defer conn.Close()
				if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
					return
				}
				f := http2.NewFramer(conn, conn)
				for err := f.WriteSettings(); err == nil; {
					var frame http2.Frame
					if frame, err = f.ReadFrame(); err != nil {
						return
					}
					if frame.Header().Type == http2.FrameHeaders {
						count.Add(1)
						err = refuse(f, frame.Header().StreamID)
					}
				}
			})
		}
	})
	t.Cleanup(func() { l.Close(); open.Wait() })
	return "https://" + l.Addr().String(), roots, count
}

func TestWhatWasCertainlyNotSentSaysSo(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	untrusted := httptest.NewTLSServer(nil)
	t.Cleanup(untrusted.Close)
	untrusted.Config.ErrorLog = nil
	plain := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") })
	for name, url := range map[string]string{
		"nobody listens": closed.URL, "no such name": "http://nobody.invalid/", "an unknown authority": untrusted.URL,
		"no TLS": strings.Replace(plain.URL, "http:", "https:", 1), "a forbidden address": "http://169.254.169.254/",
	} {
		c := newEgress(t, egress.Config{Profile: egress.Local}).Client(egress.Options{})
		if err := send(t, c, "POST", url, "{}", "key-1"); !egress.NotSent(err) {
			t.Errorf("%s: %v does not say so", name, err)
		}
	}
	redirecting := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(http.StatusPermanentRedirect)
	})
	c := newEgress(t, egress.Config{Profile: egress.Local}).Client(egress.Options{})
	if err := send(t, c, "POST", redirecting.URL, "{}", ""); !errors.Is(err, egress.ErrRedirect) || egress.NotSent(err) {
		t.Errorf("a redirect: %v", err)
	}
}

// TestStaleConnectionsLoseAndRepeatNothing: a server closes each connection after its answer without announcing it, while more requests are
// being written. No request arrives twice, and none that was reported as not sent arrives.
func TestStaleConnectionsLoseAndRepeatNothing(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var open sync.WaitGroup
	open.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() {
				defer conn.Close()
				req, err := http.ReadRequest(bufio.NewReader(conn))
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, req.Body)
				mu.Lock()
				seen[req.Header.Get("Idempotency-Key")]++
				mu.Unlock()
				fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			})
		}
	})
	t.Cleanup(func() { l.Close(); open.Wait() })
	c := newEgress(t, egress.Config{Profile: egress.Local}).Client(egress.Options{})
	for i := range 300 {
		key := fmt.Sprint(i)
		err := send(t, c, "POST", "http://"+l.Addr().String(), "{}", key)
		mu.Lock()
		n := seen[key]
		mu.Unlock()
		switch {
		case n > 1, err == nil && n != 1, egress.NotSent(err):
			t.Fatalf("request %s arrived %d times: %v", key, n, err)
		}
	}
}
