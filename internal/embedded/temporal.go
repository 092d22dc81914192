package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/windlass-dev/windlass/gateway"
	"github.com/windlass-dev/windlass/internal/assembly"
	"github.com/windlass-dev/windlass/internal/datadir"
	"github.com/windlass-dev/windlass/internal/devserver"
	"github.com/windlass-dev/windlass/libs/dirid"
	"github.com/windlass-dev/windlass/libs/sqldb"
)

// CertificatesDir is the folder of the data directory with the certificates of Temporal's server and its clients.
const CertificatesDir = "temporal"

// temporalFile is the database of the Temporal server in the data directory.
const temporalFile = "temporal.db"

// claimed calls start unless Temporal's database is lost, or of another data directory, as services do with theirs. The file gets the
// directory's identity at the first start that finds both: it is written to only while the server does not run.
func claimed(ctx context.Context, dir *datadir.Dir, start func() error) (err error) {
	d, err := dirid.Open(dir.Path())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	origin := sqldb.Origin{ID: d.ID, Required: d.Has(temporalFile)}
	id, err := origin.Claim(ctx, dir.Path(temporalFile), "temporal", "windlass_stamp")
	if errors.Is(err, sqldb.ErrMissing) {
		return fmt.Errorf("%w; or remove its line from the file %s there to start with an empty one, where turns that have not ended are "+
			"started again", err, dirid.Name)
	}
	if err != nil {
		return err
	}
	if err := start(); err != nil {
		return err
	}
	return d.Add(temporalFile, id)
}

// ownTemporal is the Temporal server of this process, and the listener of its UI, nil if there is none.
type ownTemporal struct {
	*devserver.Server
	ui       net.Listener
	cancel   context.CancelFunc
	renewing sync.WaitGroup
}

// startTemporal starts the Temporal server and completes the configuration with where it is. Only clients with a certificate that follows
// from the mesh's key can use its ports, the one of its UI included, which the gateway serves to operators.
func (o *Options) startTemporal(ctx context.Context, dir *datadir.Dir) (*ownTemporal, error) {
	c := &o.Config.Temporal
	if c.TLS != (assembly.TemporalTLSConfig{}) || !c.APIKey.IsZero() || c.APIKeyFile != "" || c.UIProxy != (assembly.TemporalUIConfig{}) {
		return nil, errors.New("temporal.tls, temporal.api_key and temporal.ui_proxy are for a Temporal server of yours: set temporal.address " +
			"too. windlass up secures the one that it starts itself")
	}
	files, err := devserver.Issue(dir.Path(CertificatesDir), o.Config.Mesh.Key)
	if err != nil {
		return nil, err
	}
	t := &ownTemporal{}
	behind := ""
	if o.TemporalUIAddr != "" {
		if t.ui, err = listenOn("--temporal-ui-addr", o.TemporalUIAddr); err != nil {
			return nil, err
		}
		behind = net.JoinHostPort("127.0.0.1", "0")
	}
	err = claimed(ctx, dir, func() (err error) {
		t.Server, err = devserver.Start(ctx, devserver.Config{
			Path: c.Program, Addr: o.TemporalAddr, UIAddr: behind, File: dir.Path(temporalFile), Certificates: files,
			CodecEndpoint: o.Config.Gateway.URL + gateway.PayloadsPath, Log: o.Log,
		})
		return err
	})
	if err != nil {
		if t.Server != nil { // it started, and its file could not be recorded
			stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), partTimeout)
			defer cancel()
			err = errors.Join(err, t.Stop(stop))
		}
		return nil, errors.Join(err, t.closeUI())
	}
	c.Address = t.Address()
	c.TLS = assembly.TemporalTLSConfig{CA: files.CA, Cert: files.Client, Key: files.Client, ServerName: devserver.ServerName}
	if t.ui != nil {
		c.UI = o.Config.Gateway.Scheme() + "://" + t.ui.Addr().String()
		c.UIProxy = assembly.TemporalUIConfig{Addr: t.ui.Addr().String(), Target: t.UI()}
	}
	renew, cancel := context.WithCancel(context.WithoutCancel(ctx))
	t.cancel = cancel
	t.renewing.Go(func() { devserver.Renew(renew, dir.Path(CertificatesDir), o.Config.Mesh.Key, o.Log) })
	return t, nil
}

// stop stops the server.
func (t *ownTemporal) stop() error {
	t.cancel()
	t.renewing.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), partTimeout)
	defer cancel()
	return errors.Join(t.Stop(ctx), t.closeUI())
}

// closeUI closes the listener of the UI, which the gateway has closed except after a failed start.
func (t *ownTemporal) closeUI() error {
	if t.ui == nil {
		return nil
	}
	if err := t.ui.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
