package contract

// IngestWorkflow is the type name of the workflow that has a version of a document ingested. Its id is the version's.
const IngestWorkflow = "IngestDocument"

// IngestInput is what the workflow of a version starts from: references only.
type IngestInput struct {
	// Tenant the document belongs to.
	Tenant string `json:"tenant"`
	// Version is "ver_…", and the workflow's id. A retry of an ingestion makes another version of the same content.
	Version string `json:"version"`
}

// IngestResult is the result of the workflow of a version.
type IngestResult struct {
	// Outcome is the outcome, see windlass.knowledge.v1.IngestionOutcome.
	Outcome string `json:"outcome"`
}
