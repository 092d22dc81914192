// Package meshtlstest tries out connections between members of a mesh.
package meshtlstest

import (
	"crypto/tls"
	"io"
	"net"
	"testing"

	"github.com/windlass-dev/windlass/libs/meshtls"
)

// Served reports whether a server serves a client.
func Served(t *testing.T, server meshtls.Source, client *tls.Config) bool {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", meshtls.Server(server))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if conn, err := l.Accept(); err == nil {
			_, _ = conn.Write([]byte("x")) // fails where the client is refused
			_ = conn.Close()
		}
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if client.ServerName == "" {
		client.ServerName = "127.0.0.1"
	}
	_, err = io.ReadFull(tls.Client(conn, client), make([]byte, 1))
	_ = conn.Close()
	<-done
	return err == nil
}
