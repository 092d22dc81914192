package main

import (
	"net"
	"strconv"

	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/membership/static"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
)

const (
	clusterName = "active"

	// historyShards is fixed for the lifetime of a file. Queues are read per shard, so few shards are faster than one, and each costs memory.
	historyShards = 4
)

// serverConfig returns the static configuration: listen addresses, and one SQLite database for all stores.
func serverConfig(host string, p ports, db *config.SQL) *config.Config {
	frontend := dialable(host, p.frontend)
	cfg := &config.Config{
		Persistence: config.Persistence{
			DefaultStore:     storeName,
			VisibilityStore:  sqliteplugin.PluginName,
			NumHistoryShards: historyShards,
			DataStores: map[string]config.DataStore{
				storeName:               {CustomDataStoreConfig: &config.CustomDatastoreConfig{Name: storeName}},
				sqliteplugin.PluginName: {SQL: db},
			},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10,
			MasterClusterName:        clusterName,
			CurrentClusterName:       clusterName,
			ClusterInformation: map[string]cluster.ClusterInformation{
				clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: frontend},
			},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Services: map[string]config.Service{
			string(primitives.FrontendService): service(host, p.frontend),
			string(primitives.HistoryService):  service(loopback, p.history),
			string(primitives.MatchingService): service(loopback, p.matching),
			string(primitives.WorkerService):   service(loopback, p.worker),
		},
		// The system workers inside the server are ordinary clients of the frontend.
		PublicClient: config.PublicClient{HostPort: frontend},
	}
	cfg.Archival.History.State = "disabled"
	cfg.Archival.Visibility.State = "disabled"
	cfg.NamespaceDefaults.Archival.History.State = "disabled"
	cfg.NamespaceDefaults.Archival.Visibility.State = "disabled"
	return cfg
}

// service leaves the HTTP port out: the frontend's HTTP API takes requests of web pages and checks nothing, and the UI has its own.
func service(host string, port int) config.Service {
	return config.Service{RPC: config.RPC{BindOnIP: host, GRPCPort: port}}
}

// staticHosts names the only host of each service, which avoids the membership gossip and its ports.
func staticHosts(host string, p ports) map[primitives.ServiceName]static.Hosts {
	local := func(port int) static.Hosts {
		return static.SingleLocalHost(net.JoinHostPort(loopback, strconv.Itoa(port)))
	}
	return map[primitives.ServiceName]static.Hosts{
		primitives.FrontendService: static.SingleLocalHost(dialable(host, p.frontend)),
		primitives.HistoryService:  local(p.history),
		primitives.MatchingService: local(p.matching),
		primitives.WorkerService:   local(p.worker),
	}
}
