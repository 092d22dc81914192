// Package api serves windlass.knowledge.v1. It is the only package of the service that knows the API's messages.
package api

import (
	"context"

	"google.golang.org/grpc"

	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	"github.com/windlass-dev/windlass/services/knowledge/bank"
	"github.com/windlass-dev/windlass/services/knowledge/banksource"
	"github.com/windlass-dev/windlass/services/knowledge/document"
	"github.com/windlass-dev/windlass/services/knowledge/factbook"
	"github.com/windlass-dev/windlass/services/knowledge/ingest"
	"github.com/windlass-dev/windlass/services/knowledge/search"
	"github.com/windlass-dev/windlass/services/knowledge/store"
	"github.com/windlass-dev/windlass/services/knowledge/syncs"
)

// Deps are the rooms that the servers call; all but Memory and Spaces are required.
type Deps struct {
	// Banks keeps banks, Documents their documents.
	Banks     *bank.Service
	Documents *document.Service
	// Memory keeps facts about users; nil serves none.
	Memory *factbook.Book
	// Ingestions ingests documents.
	Ingestions *ingest.Service
	// Sources keeps the sources of banks, and Syncs makes banks follow them.
	Sources *banksource.Service
	Syncs   *syncs.Service
	// Searches finds passages.
	Searches *search.Service
	// Spaces says in which space banks have their vectors; nil = in none.
	Spaces func(ctx context.Context, tenant string, banks []string) (map[string]store.Space, error)
}

// Register adds the services to a server.
func Register(r grpc.ServiceRegistrar, deps Deps) {
	knowledgev1.RegisterBankServiceServer(r, &banks{banks: deps.Banks, spaces: deps.Spaces})
	knowledgev1.RegisterDocumentServiceServer(r, &documents{documents: deps.Documents, ingestions: deps.Ingestions})
	knowledgev1.RegisterIngestionServiceServer(r, &ingestion{ingestions: deps.Ingestions, syncs: deps.Syncs})
	knowledgev1.RegisterBankSourceServiceServer(r, &sources{sources: deps.Sources})
	knowledgev1.RegisterSearchServiceServer(r, &searches{searches: deps.Searches})
	if deps.Memory != nil {
		knowledgev1.RegisterMemoryServiceServer(r, &memory{book: deps.Memory})
		knowledgev1.RegisterRecallServiceServer(r, &recall{book: deps.Memory, searches: deps.Searches, documents: deps.Documents})
	}
}
