package knowledge

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/services/knowledge/parse"
)

// restartAfter is how long a workflow may be without an outcome until it is started again, in case it is gone.
const restartAfter = time.Minute

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
	SweepInterval        time.Duration `yaml:"sweep_interval" default:"5s" doc:"How often documents are checked whose ingestion was not started, because a process or Temporal was away."`
}

// check rejects a configuration that makes no sense.
func (c Config) check() error {
	if err := config.CheckNotNegative(c); err != nil {
		return fmt.Errorf("knowledge: %w", err)
	}
	if c.MaxDocumentBytes > parse.MaxData {
		return fmt.Errorf("knowledge: max_document_bytes %s is more than 64MiB", c.MaxDocumentBytes)
	}
	for _, dir := range c.Folders {
		if !filepath.IsAbs(dir) {
			return fmt.Errorf("knowledge: folders: %q is no absolute path", dir)
		}
	}
	return nil
}
