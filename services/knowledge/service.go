// Package knowledge keeps banks of documents that agents answer from, and finds passages in them.
package knowledge

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"sync"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/upload"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	"github.com/windlass-dev/windlass/services/knowledge/access"
	"github.com/windlass-dev/windlass/services/knowledge/api"
	"github.com/windlass-dev/windlass/services/knowledge/bank"
	"github.com/windlass-dev/windlass/services/knowledge/banksource"
	"github.com/windlass-dev/windlass/services/knowledge/document"
	"github.com/windlass-dev/windlass/services/knowledge/embed"
	"github.com/windlass-dev/windlass/services/knowledge/factbook"
	"github.com/windlass-dev/windlass/services/knowledge/ingest"
	"github.com/windlass-dev/windlass/services/knowledge/kinds"
	"github.com/windlass-dev/windlass/services/knowledge/parse"
	"github.com/windlass-dev/windlass/services/knowledge/search"
	"github.com/windlass-dev/windlass/services/knowledge/source/fetch"
	"github.com/windlass-dev/windlass/services/knowledge/source/mcp"
	"github.com/windlass-dev/windlass/services/knowledge/store"
	"github.com/windlass-dev/windlass/services/knowledge/syncs"
)

// Deps are what the service needs; all but MeshKey and Models are required.
type Deps struct {
	// DB is the service's database. New migrates it; its owner closes it.
	DB *sqldb.DB
	// Policy says what callers may read.
	Policy access.PermissionReader
	// MeshKey is the key of the mesh; the key of what stays of forgotten facts is derived from it. Zero, which is allowed, serves no memory.
	MeshKey secret.Value
	// Engine runs the workflows that ingest documents and sync sources.
	Engine Engine
	// Models makes vectors and orders passages, if the configuration names models; then it is required.
	Models inferencev1.InferenceServiceClient
	// Egress reads pages of sites for sources.
	Egress fetch.Dialer
	// Docs has the documentation of Windlass, for sources of kind docs.
	Docs fs.FS
	// Servers passes requests on to MCP servers as the principal in the context, for sources of kind mcp.
	Servers mcp.Servers
	// Log gets what went wrong.
	Log *slog.Logger
}

// Engine runs the workflows of the service.
type Engine interface {
	ingest.Engine
	syncs.Engine
}

// Service serves windlass.knowledge.v1. It is safe for concurrent use.
type Service struct {
	store  *store.Store
	ingest *ingest.Service
	filler *embed.Filler // nil without an embedding model
	syncs  *syncs.Service
	api    api.Deps
}

// check reports what is missing.
func (d Deps) check() error {
	if d.DB == nil || d.Policy == nil || d.Engine == nil || d.Egress == nil || d.Docs == nil || d.Servers == nil || d.Log == nil {
		return errors.New("knowledge needs DB, Policy, Engine, Egress, Docs, Servers and Log")
	}
	return nil
}

// New checks configuration and dependencies, brings the tables up to date and returns the service. It answers calls at once; Run does its
// background work.
func New(cfg Config, deps Deps) (*Service, error) {
	if err := deps.check(); err != nil {
		return nil, err
	}
	config.Fill(&cfg)
	if err := cfg.check(); err != nil {
		return nil, err
	}
	st, err := store.Open(context.Background(), deps.DB)
	if err != nil {
		return nil, err
	}
	memory, err := newMemory(deps.MeshKey, st)
	if err != nil {
		return nil, err
	}
	vectors, err := newVectors(cfg, deps, st)
	if err != nil {
		return nil, err
	}
	ingestions, err := ingest.New(ingest.Config{
		Concurrent: cfg.ConcurrentIngestions, Interval: cfg.SweepInterval, RestartAfter: restartAfter,
	}, ingest.Deps{Store: st, Reader: reader{parse.New()}, Engine: deps.Engine, Ready: vectors.trigger, Log: deps.Log})
	if err != nil {
		return nil, err
	}
	table := kinds.Table(kinds.Deps{
		Client: fetch.Client{Egress: deps.Egress, MaxBytes: int64(cfg.MaxDocumentBytes)}, Folders: cfg.Folders, Docs: deps.Docs,
		Servers: deps.Servers,
	})
	followers, err := syncs.New(syncs.Config{
		Concurrent: cfg.ConcurrentSyncs, Interval: cfg.SweepInterval, RestartAfter: restartAfter, MaxItems: cfg.MaxSourceItems,
		MaxBytes: int64(cfg.MaxDocumentBytes), MaxDocuments: cfg.MaxDocuments,
	}, syncs.Deps{
		Store: st, Kinds: table, Engine: deps.Engine, MediaType: mediaType, Labels: labels, Queued: ingestions.Trigger, Log: deps.Log,
	})
	if err != nil {
		return nil, err
	}
	reader := access.NewReader(st, deps.Policy)
	return &Service{store: st, ingest: ingestions, syncs: followers, filler: vectors.filler, api: api.Deps{
		Sources: banksource.New(banksource.Deps{
			Store: st, Access: reader, Kinds: table, Limit: cfg.MaxSources, Queued: followers.Trigger, Log: deps.Log,
		}),
		Syncs:  followers,
		Memory: memory,
		Banks: bank.New(bank.Deps{Store: st, Access: reader, Limit: cfg.MaxBanks, Log: deps.Log, Resumed: func() {
			ingestions.Trigger()
			followers.Trigger()
		}}),
		Documents: document.New(document.Deps{
			Store: st, Access: reader, MediaType: mediaType, MaxBytes: int64(cfg.MaxDocumentBytes), Limit: cfg.MaxDocuments,
			Uploads: upload.NewGate(cfg.MaxUploads), Log: deps.Log,
			Queued: func(context.Context, store.Document) { ingestions.Trigger() },
		}),
		Ingestions: ingestions,
		Searches:   search.NewService(search.NewHybrid(st, vectors.hybrid), reader),
		Spaces:     vectors.hybrid.Spaces,
	}}, nil
}

// newMemory returns the memory whose marks of forgotten facts are made with a key derived from that of the mesh; nil without one.
func newMemory(key secret.Value, st *store.Store) (*factbook.Book, error) {
	if key.IsZero() {
		return nil, nil
	}
	marker, err := factbook.NewMarker(key)
	if err != nil {
		return nil, err
	}
	return factbook.New(st, marker), nil
}

// Register adds the services to a server.
func (s *Service) Register(r grpc.ServiceRegistrar) { api.Register(r, s.api) }

// Run starts the workflows of documents that are to be ingested and of sources that are to be synced, and makes vectors, until ctx ends;
// then it returns nil.
func (s *Service) Run(ctx context.Context) error {
	var loops sync.WaitGroup
	if s.filler != nil {
		loops.Go(func() { s.filler.Run(ctx) })
	}
	loops.Go(func() { s.syncs.Run(ctx) })
	s.ingest.Run(ctx)
	loops.Wait()
	return nil
}
