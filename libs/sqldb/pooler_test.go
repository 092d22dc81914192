package sqldb_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testpg"
)

// TestASchemaThatAPoolerDropsIsNoticed: all services would share the tables of "public".
func TestASchemaThatAPoolerDropsIsNoticed(t *testing.T) {
	server, err := url.Parse(testpg.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	server.Host = pooler(t, server.Host)
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: server.String(), Schema: "shop"})
	if !errors.Is(err, sqldb.ErrSchema) || !strings.Contains(err.Error(), `it is "public", not "shop"`) ||
		!strings.Contains(err.Error(), "database.url") {
		t.Errorf("Open = %v, want ErrSchema with both schemas and what to do", err)
	}
	if err == nil {
		_ = db.Close()
	}
}

// pooler forwards connections to a server without their search_path, as PgBouncer does where it is told to ignore that parameter.
func pooler(t *testing.T, server string) (addr string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
	all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { forward(client, server) })
		}
	})
	return l.Addr().String()
}

func forward(client net.Conn, server string) {
	defer func() { _ = client.Close() }()
	start, err := startup(client)
	if err != nil {
		return
	}
	conn, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write(start); err != nil {
		return
	}
	go func() {
		_, _ = io.Copy(conn, client)
		_ = conn.Close()
	}()
	_, _ = io.Copy(client, conn)
}

// startup reads a client's startup message, and returns it without the parameter search_path.
func startup(client net.Conn) ([]byte, error) {
	head := make([]byte, 8) // length and version
	if _, err := io.ReadFull(client, head); err != nil {
		return nil, err
	}
	body := make([]byte, binary.BigEndian.Uint32(head)-8)
	if _, err := io.ReadFull(client, body); err != nil {
		return nil, err
	}
	words := bytes.Split(bytes.TrimRight(body, "\x00"), []byte{0})
	out := bytes.Clone(head)
	for i := 0; i+1 < len(words); i += 2 {
		if string(words[i]) != "search_path" {
			out = append(append(append(append(out, words[i]...), 0), words[i+1]...), 0)
		}
	}
	out = append(out, 0)
	binary.BigEndian.PutUint32(out, uint32(len(out)))
	return out, nil
}
