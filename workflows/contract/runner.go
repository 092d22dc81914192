package contract

// RunnerNamespace is the namespace of the placeholders that a worker resolves, where the step runs.
const RunnerNamespace = "runner"

// Names in RunnerNamespace.
const (
	// RunnerWorkerID is the worker's name in leases.
	RunnerWorkerID = "worker_id"
	// RunnerHost is the name of the worker's machine.
	RunnerHost = "host"
	// RunnerOS and RunnerArch are the worker's platform in Go's words: "linux", "amd64".
	RunnerOS   = "os"
	RunnerArch = "arch"
)

// WorkerEnvNamespace is the namespace in which sealed texts of an executor hold ${env:NAME}, a reference to the worker's environment.
// Users cannot write it: what they write is checked.
const WorkerEnvNamespace = "worker_env"

// WorkerSecretNamespace is the same for ${secret:NAME}, a reference to a stored secret of the turn's tenant.
const WorkerSecretNamespace = "worker_secret"

// RunnerNames lists the names that ${runner.*} has.
func RunnerNames() []string { return []string{RunnerWorkerID, RunnerHost, RunnerOS, RunnerArch} }
