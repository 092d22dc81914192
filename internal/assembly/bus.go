package assembly

import (
	"context"
	"fmt"

	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/lifecycle"
	"github.com/windlass-dev/windlass/libs/meshtls"
)

// BusConfig configures the message bus.
type BusConfig struct {
	URL string `yaml:"url" default:"nats://127.0.0.1:4222" doc:"embedded: (a NATS server inside this process) or nats://host:port (several separated by commas)."`
	Dir string `yaml:"dir" doc:"Directory in which an embedded bus stores recent deltas; empty: in memory."`
	// Listen is for the bus role.
	Listen      string `yaml:"listen" default:"127.0.0.1:4222" doc:"Address on which the bus role serves other processes."`
	Replicas    int    `yaml:"replicas" default:"1" doc:"Number of NATS cluster nodes that store recent deltas: 3 for a cluster of three, 1 for a single server."`
	Credentials string `yaml:"credentials" default:"mesh" doc:"How a process identifies itself at bus.url. mesh: with a key derived from mesh.key, as the bus role expects, over TLS. For another NATS server: the path of a .creds file, or none if bus.url holds user and password or the server needs nothing."`
	// TLS replaces derived certificates.
	TLS BusTLSConfig `yaml:"tls"`
	// Cluster makes the bus role a node of a cluster.
	Cluster BusClusterConfig `yaml:"cluster"`
}

// BusClusterConfig makes several processes with the bus role one NATS cluster.
type BusClusterConfig struct {
	Node   string   `yaml:"node" doc:"Name of this node, unique in the cluster and the same after a restart."`
	Listen string   `yaml:"listen" doc:"Address on which the bus role serves the other nodes of its cluster. Empty: the bus is a single server."`
	Routes []string `yaml:"routes" doc:"host:port of the other nodes' bus.cluster.listen."`
}

// BusTLSConfig names certificates for the connections to and between servers of the bus.
type BusTLSConfig struct {
	Cert       string `yaml:"cert" doc:"PEM file with the certificate of this process. Empty: with bus.credentials mesh, certificates derived from mesh.key. The files are read again when they change."`
	Key        string `yaml:"key" doc:"PEM file with the certificate's private key."`
	CA         string `yaml:"ca" doc:"PEM file with the authorities whose certificates are accepted."`
	ServerName string `yaml:"server_name" doc:"Name that the servers' certificates must have. Empty: the host in bus.url; a changed bus.tls.ca then needs a restart."`
}

// source returns the configured certificates, nil if there are none.
func (c BusTLSConfig) source() (meshtls.Source, error) {
	if c == (BusTLSConfig{}) {
		return nil, nil
	}
	files, err := meshtls.FromFiles(c.Cert, c.Key, c.CA, c.ServerName)
	if err != nil {
		return nil, fmt.Errorf("bus.tls: %w", err)
	}
	return files, nil
}

// openBus connects to the bus.
func (p *Process) openBus() error {
	certificates, err := p.cfg.Bus.TLS.source()
	if err != nil {
		return err
	}
	p.bus, err = bus.Open(p.ctx, bus.Config{
		URL: p.cfg.Bus.URL, Dir: p.cfg.Bus.Dir, Replicas: p.cfg.Bus.Replicas, Name: "windlass",
		Key: []byte(p.cfg.Mesh.Key.Reveal()), Credentials: p.cfg.Bus.Credentials, TLS: certificates, Log: p.log,
	})
	if err != nil {
		return fmt.Errorf("bus: %w", err)
	}
	return nil
}

func (p *Process) buildBusServer() error {
	certificates, err := p.cfg.Bus.TLS.source()
	if err != nil {
		return err
	}
	var server *bus.Server
	p.group.Add(lifecycle.Component{
		Name: Bus,
		Start: func(ctx context.Context) (err error) {
			server, err = bus.StartServer(ctx, bus.ServerConfig{
				Dir: p.cfg.Bus.Dir, Listen: p.cfg.Bus.Listen, Key: []byte(p.cfg.Mesh.Key.Reveal()), TLS: certificates,
				Cluster: bus.Cluster(p.cfg.Bus.Cluster), Log: p.log,
			})
			return err
		},
		Stop: func(ctx context.Context) error { return server.Close(ctx) },
	})
	return nil
}
