package contract

import "strconv"

// IngestWorkflow is the type name of the workflow that has a version of a document ingested.
const IngestWorkflow = "IngestDocument"

// IngestInput is what the workflow of a version starts from: references only.
type IngestInput struct {
	// Tenant the document belongs to.
	Tenant string `json:"tenant"`
	// Version is "ver_…".
	Version string `json:"version"`
	// Retry counts how often the ingestion was requested again.
	Retry int `json:"retry,omitempty"`
}

// WorkflowID is the id of the version's workflow. Each retry has a workflow of its own, so that it is not taken for one that a cancel is
// still ending.
func (in IngestInput) WorkflowID() string {
	if in.Retry == 0 {
		return in.Version
	}
	return in.Version + "-" + strconv.Itoa(in.Retry)
}

// IngestResult is the result of the workflow of a version.
type IngestResult struct {
	// Outcome is the outcome, see windlass.knowledge.v1.IngestionOutcome.
	Outcome string `json:"outcome"`
}
