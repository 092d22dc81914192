// Package embedded runs the whole mesh in one process on a data directory, for `windlass up`. Roles, servers and stores are those of
// production; only the network between them is in memory, and Temporal is a child process.
package embedded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/windlass-dev/windlass/internal/assembly"
	"github.com/windlass-dev/windlass/internal/datadir"
	"github.com/windlass-dev/windlass/libs/authn/accesstoken"
	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/memlimit"
	"github.com/windlass-dev/windlass/libs/rpc"
)

// stopTimeout bounds a clean stop: running turns release their steps and continue at the next start.
const stopTimeout = 20 * time.Second

// partTimeout bounds the stop of a part beside the roles.
const partTimeout = 10 * time.Second

// Options configure a run.
type Options struct {
	// Config is complete; see Defaults.
	Config assembly.Config
	// DataDir holds all state.
	DataDir string
	// GRPCAddr, TemporalAddr and TemporalUIAddr are "host:port"; port 0 picks one.
	GRPCAddr, TemporalAddr, TemporalUIAddr string
	// Log, Metrics and Getenv are passed to the roles.
	Log     *slog.Logger
	Metrics http.Handler
	Getenv  func(string) string
	// Kill ends the process as SIGKILL does, and starts it again on the same addresses. Nil where that cannot be done.
	Kill func(Ready)
	// Started is called once everything serves.
	Started func(Ready)
	// Slow is called with the name of a part whose stop takes longer than a second; nil = no one asks.
	Slow func(part string)
}

// Ready holds the addresses of a running mesh.
type Ready struct {
	URL      string `json:"url"`
	GRPC     string `json:"grpc"`
	Temporal string `json:"temporal"`
	// Issuer is the built-in issuer's URL, "" if it does not run.
	Issuer     string `json:"issuer,omitempty"`
	TemporalUI string `json:"temporal_ui"`
	DataDir    string `json:"data_dir"`
	// TokenFile is the file with the token of the local user, and NeedsToken whether their programs need it.
	TokenFile  string `json:"token_file"`
	NeedsToken bool   `json:"needs_token,omitempty"`
	Model      string `json:"model"`
	PID        int    `json:"pid"`
	// TemporalPID is the process id of the Temporal child.
	TemporalPID int `json:"temporal_pid"`
}

// Defaults returns the configuration of windlass up before file, environment and flags.
func Defaults() assembly.Config {
	c := assembly.Defaults()
	c.Mesh.Listen, c.Mesh.Targets, c.Mesh.Reflection = nil, nil, true
	c.Database.URL, c.Bus.URL, c.Bus.Dir, c.Bus.Listen = "", bus.Embedded, "", ""
	c.Temporal.Address, c.Temporal.UI, c.Gateway.URL = "", "", ""
	c.Identity.Loopback = assembly.LoopbackLocal
	c.Memory.Limit = memlimit.Auto
	c.MCPBridge.Programs, c.Worker.Executors.Commands = programs(), programs()
	c.Temporal.Eager = true
	c.Policy.Rules = append(c.Policy.Rules, userRules()...)
	return c
}

// Run runs until ctx ends or a part fails. A clean stop returns nil.
func Run(ctx context.Context, o Options) (err error) {
	dir, err := datadir.Open(o.DataDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	if err := o.place(dir); err != nil {
		return err
	}
	web, grpc, err := listen(o.Config.Gateway.Addr, o.GRPCAddr)
	if err != nil {
		return err
	}
	defer closeAll(web, grpc)
	webURL := o.Config.Gateway.Scheme() + "://" + web.Addr().String()
	o.Config.Gateway.URL = cmp.Or(o.Config.Gateway.URL, webURL)
	issuerURL, stopIssuer, err := o.startIssuer(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopIssuer()) }()
	if err := o.consoleLogin(issuerURL, dir.Path(IssuerDir)); err != nil {
		return err
	}

	ready := Ready{
		URL: webURL, GRPC: grpc.Addr().String(), Issuer: issuerURL, DataDir: dir.Path(), PID: os.Getpid(),
		TokenFile: o.Config.Identity.TokenFile,
	}
	ready.Temporal, ready.TemporalUI = o.Config.Temporal.Address, o.Config.Temporal.UI
	listeners := listeners{web: web, grpc: grpc}
	if ready.Temporal == "" {
		var server *ownTemporal
		if server, err = o.startTemporal(ctx, dir); err != nil {
			return cleanStop(ctx, err)
		}
		defer func() { err = errors.Join(err, server.stop()) }()
		ready.Temporal, ready.TemporalUI, ready.TemporalPID = o.Config.Temporal.Address, o.Config.Temporal.UI, server.PID()
		listeners.temporalUI = server.ui
	}
	return o.mesh(ctx, ready, dir, listeners)
}

// listeners are those of the mesh; temporalUI is nil where the gateway does not serve that.
type listeners struct{ web, grpc, temporalUI net.Listener }

// mesh runs the roles.
func (o Options) mesh(ctx context.Context, ready Ready, dir *datadir.Dir, at listeners) error {
	opts := assembly.Options{
		Config: o.Config, Roles: assembly.AllRoles(), Network: rpc.NewMemory(), Extra: []net.Listener{at.grpc}, HTTP: at.web,
		TemporalUI: at.temporalUI, Issuer: ready.Issuer,
		Log: o.Log, Metrics: o.Metrics, Getenv: o.Getenv, Slow: o.Slow,
	}
	if o.Kill != nil {
		opts.Kill = func() { o.Kill(ready) }
	}
	p, err := assembly.New(ctx, opts)
	if err != nil {
		return cleanStop(ctx, err)
	}
	ready.NeedsToken = !p.Loopback
	p.Bootstrap(starter(dir))
	return p.Run(ctx, stopTimeout, func() {
		ready.Model = p.DefaultModel(ctx)
		if o.Started != nil {
			o.Started(ready)
		}
		memlimit.Trim()
	})
}

// place fills in the settings that follow from the data directory and are not configured.
func (o *Options) place(dir *datadir.Dir) error {
	if o.Config.Database.URL == "" {
		o.Config.Database.URL = "sqlite:" + dir.Path()
	}
	if o.Config.Bus.URL == bus.Embedded && o.Config.Bus.Dir == "" {
		o.Config.Bus.Dir = dir.Path("bus")
	}
	if o.Config.Identity.TokenFile == "" {
		o.Config.Identity.TokenFile = dir.Path(accesstoken.File)
	}
	if o.Config.Mesh.Key.IsZero() {
		key, err := dir.Key("mesh.key", o.Config.Temporal.OldCodecKeys...)
		if err != nil {
			return err
		}
		o.Config.Mesh.Key = key
	}
	if v := &o.Config.Policy.Vault; v.MasterKey.IsZero() && v.MasterKeyFile == "" && v.KMS == "" {
		key, err := dir.Key("master.key", v.OldMasterKeys...)
		if err != nil {
			return err
		}
		v.MasterKey = key
	}
	if o.Config.Sessions.SealKey.IsZero() {
		key, err := dir.Key("seal.key", o.Config.Sessions.OldSealKeys...)
		if err != nil {
			return err
		}
		o.Config.Sessions.SealKey = key
	}
	return nil
}

func listen(httpAddr, grpcAddr string) (web, grpc net.Listener, err error) {
	if web, err = listenOn("--http-addr", httpAddr); err != nil {
		return nil, nil, err
	}
	if grpc, err = listenOn("--grpc-addr", grpcAddr); err != nil {
		return nil, nil, errors.Join(err, web.Close())
	}
	return web, grpc, nil
}

func listenOn(flag, addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: stop what uses the port, or choose another with %s (port 0 picks a free one): %w", addr,
			flag, err)
	}
	return l, nil
}

func closeAll(cs ...io.Closer) {
	for _, c := range cs {
		_ = c.Close() // closed by the servers, except after a failed start
	}
}

// cleanStop drops the error of a start that was interrupted.
func cleanStop(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}
