package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/windlass-dev/windlass/libs/meshtls"
)

// ServerConfig describes a server inside this process.
type ServerConfig struct {
	// Dir is where streams are stored; empty means in memory.
	Dir string
	// Listen is a TCP address, port 0 picks one; empty means that only this process can connect.
	Listen string
	// Key is a secret that clients and nodes of the cluster must have. Required with Listen.
	Key []byte
	// TLS protects all connections over TCP; nil means certificates derived from Key.
	TLS meshtls.Source
	// Cluster makes this server a node of a cluster. It requires Listen.
	Cluster Cluster
	// Log receives warnings, errors, and notices at debug level. Nil means no logging.
	Log *slog.Logger
}

// Cluster describes one node of a cluster.
type Cluster struct {
	// Node is this server's name, unique in the cluster and stable across restarts.
	Node string
	// Listen is the TCP address at which other nodes connect; empty means no cluster.
	Listen string
	// Routes are addresses (host:port) of other nodes; one reachable node is enough to find the others.
	Routes []string
}

// Server is a NATS server with JetStream inside this process.
type Server struct {
	ns    *server.Server
	tmp   string // removed by Close
	close sync.Once
}

// StartServer starts a server and returns once it is ready.
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
	var err error
	if opts.Host, opts.Port, err = address(cfg.Listen); err != nil {
		return nil, err
	}
	if err := cfg.secure(opts); err != nil {
		return nil, err
	}
	return opts, cfg.Cluster.apply(opts)
}

// apply sets the options of a cluster node.
func (c Cluster) apply(opts *server.Options) (err error) {
	if c.Listen == "" {
		return nil
	}
	if c.Node == "" {
		return errors.New("a node of a cluster needs a name")
	}
	opts.ServerName, opts.NoSystemAccount, opts.Cluster.Name = c.Node, false, "windlass"
	opts.Cluster.NoAdvertise = true // clients use the node names they were configured with, which may differ from the nodes' own
	if opts.Cluster.Host, opts.Cluster.Port, err = address(c.Listen); err != nil {
		return err
	}
	for _, route := range c.Routes {
		if _, _, err := address(route); err != nil {
			return fmt.Errorf("route %q: %w", route, err)
		}
		opts.Routes = append(opts.Routes, &url.URL{
			Scheme: "nats-route", Host: route, User: url.UserPassword(opts.Cluster.Username, opts.Cluster.Password),
		})
	}
	return nil
}

// address splits host:port; port 0 picks a free one.
func address(hostPort string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(hostPort)
	if err != nil {
		return "", 0, err
	}
	if port, err = strconv.Atoi(text); err != nil {
		return "", 0, fmt.Errorf("port %q: %w", text, err)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	return host, port, nil
}

// Addr returns the address at which the server listens; empty if it does not.
func (s *Server) Addr() string {
	if addr := s.ns.Addr(); addr != nil {
		return addr.String()
	}
	return ""
}

// URL returns the URL for other processes; empty if the server does not listen.
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

// serverLog forwards the server's log lines. Notices are routine; warnings become info, since the server repairs what it warns about, such
// as a stream truncated by a kill.
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
