package gateway_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/windlass-dev/windlass/gateway"
	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
)

// pipes is a listener without a network, which its server closes once.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	conn, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (p pipes) Close() error {
	close(p)
	return nil
}

func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// A caller that sends a byte of its body and no more does not keep a connection, whether its path takes a body or not.
func TestABodyMustArriveInTime(t *testing.T) {
	for _, path := range []string{"/v1/nothing", "/nothing", "/v1/sessions", "/openapi.json", "/logout", "/healthz"} {
		t.Run(path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				up := newUpstream(t)
				cfg := config.Default[gateway.Config]()
				cfg.Hosts = []string{"*"}
				g, err := gateway.New(cfg, depsOn(rpctest.ServeAs(t, "all", up.register, rpctest.WithPrincipal(nil))))
				if err != nil {
					t.Fatal(err)
				}
				l := make(pipes)
				done := make(chan error, 1)
				go func() { done <- g.Serve(l) }()
				client, server := net.Pipe()
				l <- server
				begin := time.Now()
				go func() {
					_, _ = io.WriteString(client, "POST "+path+" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n"+
						"Content-Type: application/json\r\n\r\n{")
				}()
				in := bufio.NewReader(client)
				resp, err := http.ReadResponse(in, nil)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, resp.Body); err != nil {
					t.Error(err)
				}
				if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
					t.Errorf("after the answer comes %v", err)
				}
				if took := time.Since(begin); took > 31*time.Second || resp.StatusCode < http.StatusBadRequest {
					t.Errorf("%d, and the connection is kept for %v", resp.StatusCode, took)
				}
				if err := errors.Join(g.Stop(context.Background()), client.Close()); err != nil {
					t.Error(err)
				}
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
