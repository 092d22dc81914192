package contract

// SyncWorkflow is the type name of the workflow that has a source of a bank synced. Its id is the sync's.
const SyncWorkflow = "SyncSource"

// SyncInput is what the workflow of a sync starts from: references only.
type SyncInput struct {
	// Tenant the source belongs to.
	Tenant string `json:"tenant"`
	// Sync is "syn_…", and the workflow's id.
	Sync string `json:"sync"`
}

// SyncResult is the result of the workflow of a sync.
type SyncResult struct {
	// Outcome is the outcome, see windlass.knowledge.v1.SyncOutcome.
	Outcome string `json:"outcome"`
}
