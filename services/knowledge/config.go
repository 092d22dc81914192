package knowledge

import (
	"fmt"
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
	return nil
}
