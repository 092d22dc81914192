package metrics

import "slices"

// Roles that report metrics.
const (
	sessions, registry, inference, gateway, policy, worker = "sessions", "registry", "inference", "gateway", "policy", "worker"
)

// table has all rows, in the order of their definition.
var table Rows

// define adds a row to the table.
func define(m Metric) *Metric {
	table = append(table, &m)
	return &m
}

// All returns the table.
func All() Rows { return slices.Clone(table) }

// Turns.
var (
	Turns = define(Metric{
		Name: "windlass.turns", Kind: Gauge, Labels: []string{"state"}, From: sessions, Shared: true,
		Help: "Turns that have not ended, by state: queued, running or waiting.",
	})
	TurnsEnded = define(Metric{
		Name: "windlass.turns.total", Kind: Counter, Labels: []string{"outcome", "stop_reason"}, From: sessions, Shared: true,
		Help: "Turns that have ended, by outcome and stop reason. Counted in the database with the end itself.",
	})
	TurnSeconds = define(Metric{
		Name: "windlass.turn", Kind: Histogram, Unit: "s", Labels: []string{"outcome"}, From: sessions,
		Help:   "Time from the acceptance of a turn to its end, waits for people included, by outcome.",
		Bounds: []float64{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 21600, 86400},
	})
	FirstTokenSeconds = define(Metric{
		Name: "windlass.first_token", Kind: Histogram, Unit: "s", From: sessions,
		Help:   "Time from the acceptance of a turn to the first piece of its first answer.",
		Bounds: []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300},
	})
	OldestQueued = define(Metric{
		Name: "windlass.oldest_queued_turn", Kind: Gauge, Unit: "s", From: sessions, Shared: true,
		Help: "Age of the oldest queued turn that no turn of its session precedes, 0 without one.",
	})
	SessionsActive = define(Metric{
		Name: "windlass.sessions.active", Kind: Gauge, From: sessions, Shared: true,
		Help: "Sessions with a turn that is queued, running or waiting.",
	})
	OutboxDepth = define(Metric{
		Name: "windlass.outbox.depth", Kind: Gauge, From: sessions, Shared: true,
		Help: "Turns whose workflow is to be started.",
	})
	OutboxOldest = define(Metric{
		Name: "windlass.outbox.oldest", Kind: Gauge, Unit: "s", From: sessions, Shared: true,
		Help: "Age of the oldest turn whose workflow is to be started, 0 without one.",
	})
	TurnsRefused = define(Metric{
		Name: "windlass.turns.refused", Kind: Counter, Labels: []string{"limit"}, From: sessions,
		Help: "Turns that were not accepted since the mesh was overloaded, by the limit that was reached.",
	})
	StepClaims = define(Metric{
		Name: "windlass.step.claims", Kind: Counter, Labels: []string{"kind", "claim"}, From: sessions,
		Help: "Steps that a worker has begun, by kind and claim: first, retry after a failure, takeover from another worker whose lease expired.",
	})
	WorkflowsLost = define(Metric{
		Name: "windlass.workflows.lost", Kind: Counter, From: sessions,
		Help: "Workflows that were gone while their turn had not ended, and were started again.",
	})
)

// What waits for people, and what is to be delivered.
var (
	Waits = define(Metric{
		Name: "windlass.waits.pending", Kind: Gauge, Labels: []string{"kind"}, From: sessions, Shared: true,
		Help: "What turns wait for, by kind: approval, input, child, resolution and the other kinds of waits.",
	})
	WaitsOldest = define(Metric{
		Name: "windlass.waits.oldest", Kind: Gauge, Unit: "s", Labels: []string{"kind"}, From: sessions, Shared: true,
		Help: "Age of the oldest wait of a kind, 0 without one.",
	})
	Approvals = define(Metric{
		Name: "windlass.approvals.pending", Kind: Gauge, From: sessions, Shared: true,
		Help: "Tool calls that wait for an approval.",
	})
	ApprovalsOldest = define(Metric{
		Name: "windlass.approvals.oldest", Kind: Gauge, Unit: "s", From: sessions, Shared: true,
		Help: "Age of the oldest call that waits for an approval, 0 without one.",
	})
	Unresolved = define(Metric{
		Name: "windlass.unresolved.calls", Kind: Gauge, From: sessions, Shared: true,
		Help: "Tool calls with an unknown outcome that wait for a person.",
	})
	UnresolvedOldest = define(Metric{
		Name: "windlass.unresolved.oldest", Kind: Gauge, Unit: "s", From: sessions, Shared: true,
		Help: "Age of the oldest call with an unknown outcome that waits for a person, 0 without one.",
	})
	Deliveries = define(Metric{
		Name: "windlass.webhook.deliveries.pending", Kind: Gauge, From: sessions, Shared: true,
		Help: "Webhook deliveries that are neither delivered nor given up.",
	})
	DeliveriesLate = define(Metric{
		Name: "windlass.webhook.deliveries.late", Kind: Gauge, Unit: "s", From: sessions, Shared: true,
		Help: "For how long the webhook delivery that was due first has been due, 0 without one. " +
			"Deliveries that are repeated are due at the next attempt.",
	})
	Fires = define(Metric{
		Name: "windlass.schedule.fires.pending", Kind: Gauge, From: sessions, Shared: true,
		Help: "Times that a schedule was due whose turn is being started. " +
			"Those that are queued behind a running turn, or while their schedule is paused, do not count.",
	})
	FiresOldest = define(Metric{
		Name: "windlass.schedule.fires.oldest", Kind: Gauge, Unit: "s", From: sessions, Shared: true,
		Help: "Age of the oldest time of a schedule whose turn is being started, 0 without one.",
	})
)

// ofAgent are the labels of what the turns of an agent have used.
var ofAgent = []string{"tenant", "agent", "model"}

// What turns have used. The first 500 combinations of tenant, agent and model have series of their own.
var (
	AgentTurns = define(Metric{
		Name: "windlass.agent.turns", Kind: Counter, Labels: ofAgent, From: sessions, Shared: true,
		Help: "Turns that have ended, by tenant, agent and the model that they were pinned to.",
	})
	AgentModelCalls = define(Metric{
		Name: "windlass.agent.model_calls", Kind: Counter, Labels: ofAgent, From: sessions, Shared: true,
		Help: "Model calls of turns that have ended.",
	})
	AgentToolCalls = define(Metric{
		Name: "windlass.agent.tool_calls", Kind: Counter, Labels: ofAgent, From: sessions, Shared: true,
		Help: "Tool calls of turns that have ended. A call that a step repeats after a crash counts once.",
	})
	AgentInputTokens = define(Metric{
		Name: "windlass.agent.input_tokens", Kind: Counter, Labels: ofAgent, From: sessions, Shared: true,
		Help: "Tokens that the models of turns that have ended have read.",
	})
	AgentOutputTokens = define(Metric{
		Name: "windlass.agent.output_tokens", Kind: Counter, Labels: ofAgent, From: sessions, Shared: true,
		Help: "Tokens that the models of turns that have ended have written.",
	})
	AgentCost = define(Metric{
		Name: "windlass.agent.cost", Kind: Counter, Labels: ofAgent, From: sessions, Shared: true,
		Help: "What turns that have ended have cost, in the currency of the prices.",
	})
	ModelCost = define(Metric{
		Name: "windlass.model.cost", Kind: Counter, Labels: []string{"model"}, From: sessions, Shared: true,
		Help: "What turns that have ended have cost, in the currency of the prices, by the model they were pinned to.",
	})
)

// Models.
var (
	ModelCalls = define(Metric{
		Name: "windlass.model.calls", Kind: Counter, Labels: []string{"provider", "model", "status"}, From: inference,
		Help: "Model calls by outcome.",
	})
	ModelFirstToken = define(Metric{
		Name: "windlass.model.first_token", Kind: Histogram, Unit: "s", Labels: []string{"provider", "model"}, From: inference,
		Help: "Time until the first piece of an answer.", Bounds: []float64{0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60},
	})
	ModelTokens = define(Metric{
		Name: "windlass.model.tokens", Kind: Counter, Labels: []string{"provider", "model", "direction"}, From: inference,
		Help: "Tokens read and written by models, estimates included.",
	})
)

// Tools.
var (
	ToolCalls = define(Metric{
		Name: "windlass.tool.invocations", Kind: Counter, Labels: []string{"tenant", "tool", "source", "status", "cached"}, From: registry,
		Help: "Tool calls by outcome.",
	})
	ToolSeconds = define(Metric{
		Name: "windlass.tool.duration", Kind: Histogram, Unit: "s", Labels: []string{"tenant", "tool", "source"}, From: registry,
		Help:   "Wall time of tool calls that were sent.",
		Bounds: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300},
	})
	ToolsAvailable = define(Metric{
		Name: "windlass.tools.available", Kind: Gauge, From: registry, Help: "Tools of sources that can be reached.",
	})
	SourcesAvailable = define(Metric{
		Name: "windlass.tool_servers.available", Kind: Gauge, From: registry, Help: "Sources that can be reached.",
	})
	CacheOperations = define(Metric{
		Name: "windlass.tool.cache.operations", Kind: Counter, Labels: []string{"operation"}, From: registry,
		Help: "Operations of the cache of tool results: hit, miss, store, clear and error.",
	})
)

// Refusals.
var (
	QuotaRefusals = define(Metric{
		Name: "windlass.quota.refusals", Kind: Counter, Labels: []string{"tenant", "limit", "scope"}, Help: "Calls refused by a quota.",
	})
	BudgetRefusals = define(Metric{
		Name: "windlass.budget.refusals", Kind: Counter, Labels: []string{"limit"}, From: sessions,
		Help: "Steps that were not begun since a budget or a limit of their turn was used up, by limit.",
	})
	PolicyDenials = define(Metric{
		Name: "windlass.policy.denials", Kind: Counter, Labels: []string{"kind"}, From: policy,
		Help: "Decisions of policy that denied something, by kind: tool or permission. Repeated refusals of a call within a second count once.",
	})
)

// Processes.
var (
	BuildInfo = define(Metric{
		Name: "windlass.build_info", Kind: Gauge, Labels: []string{"version", "go"}, Help: "Always 1. Its labels describe the program.",
	})
	HTTPSeconds = define(Metric{
		Name: "http.server.request.duration", Kind: Histogram, Unit: "s", From: gateway,
		Labels: []string{"http_request_method", "http_route", "http_response_status_code"},
		Help:   "Time of HTTP requests; streams are not among them.",
		Bounds: []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120},
	})
	EventStreams = define(Metric{
		Name: "windlass.gateway.event_streams", Kind: Gauge, From: gateway, Help: "Event streams that are open.",
	})
	WorkerRuns = define(Metric{
		Name: "windlass.worker.runs", Kind: Gauge, From: worker, Help: "Turns that the worker runs eagerly now.",
	})
	WorkerPlaces = define(Metric{
		Name: "windlass.worker.places", Kind: Gauge, From: worker, Help: "Turns that the worker may run eagerly at a time: worker.max_running.",
	})
	DatabaseConns = define(Metric{
		Name: "windlass.database.connections", Kind: Gauge, Labels: []string{"database", "state"},
		Help: "Connections to a database by state: used, idle, max. max is the size of the pool.",
	})
	DatabaseWaits = define(Metric{
		Name: "windlass.database.waits", Kind: Counter, Labels: []string{"database"},
		Help: "Statements that waited for a connection to the database.",
	})
	DatabaseWaited = define(Metric{
		Name: "windlass.database.waited", Kind: Counter, Unit: "s", Labels: []string{"database"},
		Help: "Time that statements have waited for a connection to the database.",
	})
	BusConnected = define(Metric{
		Name: "windlass.bus.connected", Kind: Gauge, Help: "1 while the process is connected to the bus, else 0.",
	})
	BusReconnects = define(Metric{
		Name: "windlass.bus.reconnects", Kind: Counter, Help: "Connections to the bus that replaced a lost one.",
	})
	MemoryUsed = define(Metric{
		Name: "windlass.memory.used", Kind: Gauge, Unit: "By",
		Help: "Memory of the process in use besides garbage: the heap that the last collection found in use, stacks and the like.",
	})
	MemoryLimit = define(Metric{
		Name: "windlass.memory.limit", Kind: Gauge, Unit: "By",
		Help: "Memory that the process may use: the maximum of an automatic limit, or the fixed one. Left out without a limit.",
	})
	CertificateExpiry = define(Metric{
		Name: "windlass.certificate.expiry", Kind: Gauge, Unit: "s", Labels: []string{"certificate"},
		Help: "Time until a certificate of the process that is read from a file expires: bus, gateway, mesh or temporal.",
	})
)

// Calls, measured by OpenTelemetry's own instruments.
var (
	RPCSeconds = define(Metric{
		Name: "rpc.server.call.duration", Kind: Histogram, Unit: "s", Help: "Time of calls between the roles, measured by the server.",
		Labels: []string{"rpc_method", "rpc_response_status_code", "rpc_system_name"}, Library: true,
	})
	ClientSeconds = define(Metric{
		Name: "http.client.request.duration", Kind: Histogram, Unit: "s", Help: "Time of HTTP requests to models, tools and other servers.",
		Labels: []string{
			"http_request_method", "http_response_status_code", "network_protocol_name", "network_protocol_version", "server_address",
			"server_port", "url_scheme",
		}, Library: true,
	})
	ClientBytes = define(Metric{
		Name: "http.client.request.body.size", Kind: Histogram, Unit: "By", Help: "Sizes of the bodies of HTTP requests to servers outside.",
		Labels: ClientSeconds.Labels, Library: true,
	})
)

// Temporal's SDK. Only these of its metrics are kept, without their labels.
var (
	TemporalRequests = define(Metric{
		Name: "windlass.temporal.requests", Kind: Counter, Labels: []string{"operation"}, Help: "Requests to Temporal.",
	})
	TemporalFailures = define(Metric{
		Name: "windlass.temporal.request_failures", Kind: Counter, Labels: []string{"operation"},
		Help: "Requests to Temporal that failed. " +
			"That a workflow has been started before, or has ended, and calls that were given up do not count.",
	})
	TemporalSlots = define(Metric{
		Name: "windlass.temporal.worker_slots", Kind: Gauge, Labels: []string{"worker_type", "state"}, From: worker,
		Help: "Tasks that a worker does or could do now, by type and state: used or available.",
	})
	TemporalTaskFailures = define(Metric{
		Name: "windlass.temporal.task_failures", Kind: Counter, Labels: []string{"type"}, From: worker,
		Help: "Workflow tasks and activities that failed, by type.",
	})
	TemporalCached = define(Metric{
		Name: "windlass.temporal.cached_workflows", Kind: Gauge, From: worker, Help: "Workflows in the worker's memory.",
	})
)
