package temporal_test

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/workflows/temporal"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

func TestConfigIsChecked(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	key := func(context.Context) (string, error) { return "k", nil }
	for _, row := range []struct {
		name string
		cfg  temporal.Config
		want string
	}{
		{"no address", temporal.Config{Log: log}, "Address"},
		{"no log", temporal.Config{Address: "127.0.0.1:1"}, "Log"},
		{"a key in plain text", temporal.Config{Address: "127.0.0.1:1", Log: log, APIKey: key}, "TLS"},
		{"a key over TLS", temporal.Config{Address: "127.0.0.1:1", Log: log, APIKey: key, TLS: &tls.Config{MinVersion: tls.VersionTLS13}}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			c, err := temporal.Lazy(row.cfg)
			if row.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				c.Close()
				return
			}
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("err = %v, want something about %s", err, row.want)
			}
		})
	}
}

func TestDialGivesUpWithTheContextAndSaysWhere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // reserve a port where nobody answers
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := temporal.Dial(ctx, temporal.Config{Address: address, Log: slog.New(slog.DiscardHandler)}); err == nil ||
		!strings.Contains(err.Error(), address) {
		t.Errorf("err = %v", err)
	}
}
