package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// ServerConfig describes a server inside this process.
type ServerConfig struct {
	// Dir is where streams are kept; empty means in memory.
	Dir string
	// Listen is a TCP address, port 0 picks one; empty means that only this process can connect.
	Listen string
	// Log receives warnings and errors, and notices at debug level. Nil means no logging.
	Log *slog.Logger
}

// Server is a NATS server with JetStream inside this process.
type Server struct {
	ns    *server.Server
	tmp   string // removed at Close
	close sync.Once
}

// StartServer starts a server and returns once it serves.
func StartServer(ctx context.Context, cfg ServerConfig) (*Server, error) {
	s := &Server{}
	opts, err := s.options(cfg)
	if err != nil {
		return nil, fmt.Errorf("start bus server: %w", err)
	}
	if s.ns, err = server.NewServer(opts); err != nil {
		return nil, errors.Join(fmt.Errorf("start bus server: %w", err), s.cleanup())
	}
	if cfg.Log != nil {
		s.ns.SetLoggerV2(serverLog{cfg.Log}, false, false, false)
	}
	s.ns.Start()
	wait := 10 * time.Second
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(deadline))
	}
	if !s.ns.ReadyForConnections(wait) {
		return nil, errors.Join(fmt.Errorf("start bus server: not ready after %s (address %q in use?)", wait, cfg.Listen), s.Close(ctx))
	}
	return s, nil
}

func (s *Server) options(cfg ServerConfig) (*server.Options, error) {
	opts := &server.Options{
		ServerName: "windlass", NoSigs: true, NoLog: cfg.Log == nil, DontListen: cfg.Listen == "",
		JetStream: true, DisableJetStreamBanner: true, NoSystemAccount: true,
		JetStreamMaxMemory: 256 << 20, JetStreamMaxStore: 4 << 30,
	}
	if opts.StoreDir = filepath.Join(cfg.Dir, "jetstream"); cfg.Dir == "" {
		tmp, err := os.MkdirTemp("", "windlass-bus-")
		if err != nil {
			return nil, err
		}
		s.tmp, opts.StoreDir = tmp, tmp
	} else if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, err
	}
	if cfg.Listen == "" {
		return opts, nil
	}
	host, port, err := net.SplitHostPort(cfg.Listen)
	if err != nil {
		return nil, err
	}
	if opts.Port, err = strconv.Atoi(port); err != nil {
		return nil, fmt.Errorf("port %q: %w", port, err)
	}
	if opts.Host = host; opts.Port == 0 {
		opts.Port = server.RANDOM_PORT
	}
	return opts, nil
}

// Addr returns the address it listens at; empty if it does not.
func (s *Server) Addr() string {
	if addr := s.ns.Addr(); addr != nil {
		return addr.String()
	}
	return ""
}

// URL returns what other processes connect to; empty if it does not listen.
func (s *Server) URL() string {
	if addr := s.Addr(); addr != "" {
		return "nats://" + addr
	}
	return ""
}

// Close stops the server and waits for it until ctx ends. It is safe to call more than once.
func (s *Server) Close(ctx context.Context) error {
	var err error
	s.close.Do(func() {
		s.ns.Shutdown()
		done := make(chan struct{})
		go func() {
			s.ns.WaitForShutdown()
			close(done)
		}()
		select {
		case <-done:
			err = s.cleanup()
		case <-ctx.Done():
			err = fmt.Errorf("stop bus server: %w", ctx.Err())
		}
	})
	return err
}

func (s *Server) cleanup() error {
	if s.tmp == "" {
		return nil
	}
	return os.RemoveAll(s.tmp)
}

// serverLog passes the server's log lines on. Its notices are chatter at start and stop; it warns of what it mends itself, such as a
// stream that was cut off by a kill.
type serverLog struct{ log *slog.Logger }

func (l serverLog) Noticef(format string, v ...any) { l.line(slog.LevelDebug, format, v) }
func (l serverLog) Warnf(format string, v ...any)   { l.line(slog.LevelInfo, format, v) }
func (l serverLog) Errorf(format string, v ...any)  { l.line(slog.LevelError, format, v) }
func (l serverLog) Fatalf(format string, v ...any)  { l.line(slog.LevelError, format, v) }
func (l serverLog) Debugf(string, ...any)           {}
func (l serverLog) Tracef(string, ...any)           {}

func (l serverLog) line(level slog.Level, format string, v []any) {
	l.log.Log(context.Background(), level, "bus server", "line", fmt.Sprintf(format, v...))
}
