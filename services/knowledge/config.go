package knowledge

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/services/knowledge/parse"
)

// restartAfter is how long a workflow may be without an outcome until it is started again, in case it is gone.
const restartAfter = time.Minute

// maxDimensions is the length of the longest vectors.
const maxDimensions = 8192

// Config configures the knowledge service.
type Config struct {
	MaxDocumentBytes config.Size `yaml:"max_document_bytes" default:"32MiB" doc:"Maximum size of a document, at most 64MiB."`
	MaxBanks         int         `yaml:"max_banks" default:"1000" doc:"Maximum number of banks of a tenant."`
	MaxDocuments     int         `yaml:"max_documents" default:"100000" doc:"Maximum number of documents of a tenant, in all its banks together."`
	MaxUploads       int         `yaml:"max_uploads" default:"8" doc:"Maximum number of uploads that a process takes at a time, each in memory. Further ones wait."`

	MaxSources      int      `yaml:"max_sources" default:"1000" doc:"Maximum number of sources of a tenant's banks."`
	MaxSourceItems  int      `yaml:"max_source_items" default:"10000" doc:"Maximum number of items of one source. A sync of a larger one fails."`
	ConcurrentSyncs int      `yaml:"concurrent_syncs" default:"2" doc:"Maximum number of sources that a process syncs at a time. Further ones wait."`
	Folders         []string `yaml:"folders" doc:"Absolute paths of folders of the knowledge service's machine: sources of banks may be these and folders below them, in all tenants. Empty: no source may be a folder."`

	ConcurrentIngestions int           `yaml:"concurrent_ingestions" default:"2" doc:"Maximum number of documents that a process ingests at a time. Further ones wait."`
	SweepInterval        time.Duration `yaml:"sweep_interval" default:"5s" doc:"How often documents and syncs are checked whose workflow was not started, because a process or Temporal was away; sources whose next sync is due; and chunks that have no vector yet."`

	EmbeddingModel      string        `yaml:"embedding_model" doc:"Embedding model, provider/model, with which documents are found by their meaning as well as by their words. Empty: by their words only."`
	EmbeddingDimensions int           `yaml:"embedding_dimensions" doc:"Length of the vectors, for models that can shorten them. 0: the model's own."`
	RerankModel         string        `yaml:"rerank_model" doc:"Reranking model, provider/model, that orders the first 50 results of each search. Empty: none."`
	ModelTimeout        time.Duration `yaml:"model_timeout" default:"2s" doc:"How long a search waits for each of these models. Then it does without."`
	VectorMemory        config.Size   `yaml:"vector_memory" default:"256MiB" doc:"Memory of a process for the codes of vectors: about 280 bytes a chunk with vectors of 1,536 numbers. Banks that do not fit are searched by their words."`
}

// Models reports whether the configuration names models, which are called.
func (c Config) Models() bool { return c.EmbeddingModel != "" || c.RerankModel != "" }

// check rejects a configuration that makes no sense.
func (c Config) check() error {
	if err := config.CheckNotNegative(c); err != nil {
		return fmt.Errorf("knowledge: %w", err)
	}
	if c.MaxDocumentBytes > parse.MaxData {
		return fmt.Errorf("knowledge: max_document_bytes %s is more than 64MiB", c.MaxDocumentBytes)
	}
	for name, model := range map[string]string{"embedding_model": c.EmbeddingModel, "rerank_model": c.RerankModel} {
		if provider, rest, ok := strings.Cut(model, "/"); model != "" && (!ok || provider == "" || rest == "") {
			return fmt.Errorf("knowledge: %s %q is not provider/model", name, model)
		}
	}
	if c.EmbeddingDimensions > maxDimensions {
		return fmt.Errorf("knowledge: embedding_dimensions %d is more than %d", c.EmbeddingDimensions, maxDimensions)
	}
	for _, dir := range c.Folders {
		if !filepath.IsAbs(dir) {
			return fmt.Errorf("knowledge: folders: %q is no absolute path", dir)
		}
	}
	return nil
}
