package monitoring

import (
	"github.com/windlass-dev/windlass/libs/metrics"
)

// Forms of queries.
const (
	// shared is a metric that all replicas report with the same number.
	shared = "max without (instance, pod) (%s)"
	// rated is the rate of a counter of each process, summed by labels.
	rated = "sum by (%s) (rate(%s[$__rate_interval]))"
	// quantile is one of a histogram.
	quantile = "histogram_quantile(%s, sum by (%s) (rate(%s_bucket[$__rate_interval])))"
)

// now is the present value of a shared metric.
func now(legend string, m *metrics.Metric) Query { return q(legend, shared, m.Series()) }

// rate is that of the counters of all processes.
func rate(legend, by string, m *metrics.Metric) Query { return q(legend, rated, by, m.Series()) }

// sharedRate is the rate of a shared counter by labels.
func sharedRate(legend, by string, m *metrics.Metric) Query {
	return q(legend, "sum by (%s) (max without (instance, pod) (rate(%s[$__rate_interval])))", by, m.Series())
}

// quantiles are the median and the 95th percentile of a histogram; by are further labels with a comma behind them.
func quantiles(of string, by string, m *metrics.Metric) []Query {
	return []Query{
		q(of+" p50", quantile, "0.5", by+"le", m.Series()), q(of+" p95", quantile, "0.95", by+"le", m.Series()),
	}
}

// Dashboards are those of a mesh.
func Dashboards() []Dashboard {
	return []Dashboard{overview(), turns(), tools(), models(), workers(), storage(), system()}
}

func overview() Dashboard {
	return Dashboard{ID: "windlass-overview", Title: "Windlass / Overview", Panels: []Panel{
		{
			Title: "Running turns", Stat: true, Unit: "short", Help: "Turns that a worker runs now.",
			Queries: []Query{q("", `max(%s{state="running"})`, metrics.Turns.Series())},
		},
		{
			Title: "Queued turns", Stat: true, Unit: "short", Help: "Accepted turns that have not begun.",
			Queries: []Query{q("", `max(%s{state="queued"})`, metrics.Turns.Series())},
		},
		{
			Title: "Waiting turns", Stat: true, Unit: "short", Help: "Turns that wait for people.",
			Queries: []Query{q("", `max(%s{state="waiting"})`, metrics.Turns.Series())},
		},
		{
			Title: "Oldest queued", Stat: true, Unit: "s", Help: "Above a minute, workers are missing or overloaded.",
			Queries: []Query{q("", "max(%s)", metrics.OldestQueued.Series())},
		},
		{
			Title: "Approvals", Stat: true, Unit: "short", Help: "Tool calls that wait for a person's approval.",
			Queries: []Query{q("", "max(%s)", metrics.Approvals.Series())},
		},
		{
			Title: "Unknown outcomes", Stat: true, Unit: "short", Help: "Calls that may have had an effect and wait for a person to say so.",
			Queries: []Query{q("", "max(%s)", metrics.Unresolved.Series())},
		},
		{Title: "Ended turns", Unit: "ops", Help: "By outcome.", Queries: []Query{sharedRate("{{outcome}}", "outcome", metrics.TurnsEnded)}},
		{
			Title: "Time to the first token", Unit: "s", Help: "As users see it, from the acceptance of a turn.",
			Queries: quantiles("", "", metrics.FirstTokenSeconds),
		},
		{
			Title: "Cost per hour", Unit: "short", Help: "In the currency of the prices, of turns that have ended.",
			Queries: []Query{q("{{model}}", "3600 * sum by (model) (max without (instance, pod) (rate(%s[$__rate_interval])))",
				metrics.AgentCost.Series())},
		},
		{
			Title: "HTTP errors", Unit: "percentunit", Help: "Part of the requests that the gateway answers with 5xx.",
			Queries: []Query{q("5xx", `(sum(rate(%[1]s_count{http_response_status_code=~"5.."}[$__rate_interval])) or vector(0)) `+
				`/ sum(rate(%[1]s_count[$__rate_interval]))`, metrics.HTTPSeconds.Series())},
		},
	}}
}

func turns() Dashboard {
	return Dashboard{ID: "windlass-turns", Title: "Windlass / Turns", Panels: []Panel{
		{Title: "Turns by state", Unit: "short", Help: "Turns that have not ended.", Queries: []Query{now("{{state}}", metrics.Turns)}},
		{
			Title: "Ended turns by stop reason", Unit: "ops", Help: "How turns end.",
			Queries: []Query{sharedRate("{{outcome}} {{stop_reason}}", "outcome, stop_reason", metrics.TurnsEnded)},
		},
		{
			Title: "Duration of turns", Unit: "s", Help: "From acceptance to the end, waits for people included.",
			Queries: quantiles("{{outcome}}", "outcome, ", metrics.TurnSeconds),
		},
		{
			Title: "Turns by agent", Unit: "ops", Help: "Turns that have ended.",
			Queries: []Query{sharedRate("{{tenant}} {{agent}}", "tenant, agent", metrics.AgentTurns)},
		},
		{Title: "What turns wait for", Unit: "short", Help: "Open waits by kind.", Queries: []Query{now("{{kind}}", metrics.Waits)}},
		{Title: "Oldest waits", Unit: "s", Help: "Age of the oldest wait of each kind.", Queries: []Query{now("{{kind}}", metrics.WaitsOldest)}},
		{
			Title: "Outbox", Unit: "short", Help: "Turns whose workflow is to be started: it rises while Temporal is away.",
			Queries: []Query{now("depth", metrics.OutboxDepth)},
		},
		{
			Title: "Backlog of webhooks and schedules", Unit: "s", Help: "How late what is to be delivered or fired is.",
			Queries: []Query{now("webhooks", metrics.DeliveriesLate), now("schedules", metrics.FiresOldest)},
		},
		{
			Title: "Step claims", Unit: "ops", Help: "A takeover is a step whose worker was lost, a retry one that failed.",
			Queries: []Query{rate("{{kind}} {{claim}}", "kind, claim", metrics.StepClaims)},
		},
		{Title: "Refused turns and steps", Unit: "ops", Help: "By what was used up.", Queries: []Query{
			q("overload", "sum(rate(%s[$__rate_interval])) or vector(0)", metrics.TurnsRefused.Series()),
			q("budget", "sum(rate(%s[$__rate_interval])) or vector(0)", metrics.BudgetRefusals.Series()),
			q("quota", "sum(rate(%s[$__rate_interval])) or vector(0)", metrics.QuotaRefusals.Series()),
			q("policy", "sum(rate(%s[$__rate_interval])) or vector(0)", metrics.PolicyDenials.Series()),
		}},
	}}
}

func tools() Dashboard {
	return Dashboard{ID: "windlass-tools", Title: "Windlass / Tools", Panels: []Panel{
		{
			Title: "Available tools", Stat: true, Unit: "short", Help: "Tools of sources that can be reached.",
			Queries: []Query{q("", "max(%s)", metrics.ToolsAvailable.Series())},
		},
		{
			Title: "Available sources", Stat: true, Unit: "short", Help: "Sources that can be reached.",
			Queries: []Query{q("", "max(%s)", metrics.SourcesAvailable.Series())},
		},
		{
			Title: "Calls by source", Unit: "ops", Help: "Tool calls, cached ones included.",
			Queries: []Query{rate("{{source}}", "source", metrics.ToolCalls)},
		},
		{
			Title: "Failed calls", Unit: "ops", Help: "By status and source.",
			Queries: []Query{q("{{source}} {{status}}", `sum by (source, status) (rate(%s{status!="ok"}[$__rate_interval])) or vector(0)`,
				metrics.ToolCalls.Series())},
		},
		{
			Title: "Duration by source", Unit: "s", Help: "Of calls that were sent.",
			Queries: quantiles("{{source}}", "source, ", metrics.ToolSeconds),
		},
		{
			Title: "Most called tools", Unit: "ops", Help: "The ten tools with most calls.",
			Queries: []Query{q("{{tool}}", "topk(10, sum by (tool) (rate(%s[$__rate_interval])))", metrics.ToolCalls.Series())},
		},
		{
			Title: "Cache", Unit: "ops", Help: "Operations of the cache of tool results.",
			Queries: []Query{rate("{{operation}}", "operation", metrics.CacheOperations)},
		},
		{
			Title: "Approvals and unknown outcomes", Unit: "short", Help: "Calls that wait for people.",
			Queries: []Query{now("approvals", metrics.Approvals), now("unknown outcomes", metrics.Unresolved)},
		},
	}}
}

func models() Dashboard {
	return Dashboard{ID: "windlass-models", Title: "Windlass / Models and cost", Panels: []Panel{
		{
			Title: "Calls by model", Unit: "ops", Help: "Model calls of all kinds.",
			Queries: []Query{rate("{{provider}} {{model}}", "provider, model", metrics.ModelCalls)},
		},
		{
			Title: "Failed calls", Unit: "ops", Help: "By provider and status.",
			Queries: []Query{q("{{provider}} {{status}}", `sum by (provider, status) (rate(%s{status!="ok"}[$__rate_interval])) or vector(0)`,
				metrics.ModelCalls.Series())},
		},
		{
			Title: "First token", Unit: "s", Help: "Time until a model begins to answer.",
			Queries: quantiles("{{model}}", "model, ", metrics.ModelFirstToken),
		},
		{
			Title: "Tokens", Unit: "short", Help: "Tokens per second that models read and write.",
			Queries: []Query{rate("{{model}} {{direction}}", "model, direction", metrics.ModelTokens)},
		},
		{
			Title: "Cost per hour by agent", Unit: "short", Help: "In the currency of the prices.",
			Queries: []Query{q("{{tenant}} {{agent}}", "3600 * sum by (tenant, agent) (max without (instance, pod) (rate(%s[$__rate_interval])))",
				metrics.AgentCost.Series())},
		},
		{Title: "Tokens by agent", Unit: "short", Help: "Tokens per second of turns that have ended.", Queries: []Query{
			sharedRate("{{agent}} read", "agent", metrics.AgentInputTokens), sharedRate("{{agent}} written", "agent", metrics.AgentOutputTokens),
		}},
	}}
}

func workers() Dashboard {
	return Dashboard{ID: "windlass-workers", Title: "Windlass / Workers", Panels: []Panel{
		{
			Title: "Running turns by worker", Unit: "short", Help: "Turns that a worker runs ahead of their workflow.",
			Queries: []Query{q("{{instance}}", "%s", metrics.WorkerRuns.Series())},
		},
		{
			Title: "Places in use", Unit: "percentunit", Help: "At 100 %, add workers or raise worker.max_running.",
			Queries: []Query{q("{{instance}}", "%s / %s", metrics.WorkerRuns.Series(), metrics.WorkerPlaces.Series())},
		},
		{
			Title: "Temporal task slots", Unit: "short", Help: "Tasks of workflows and activities that workers do now.",
			Queries: []Query{q("{{worker_type}}", `sum by (worker_type) (%s{state="used"})`, metrics.TemporalSlots.Series())},
		},
		{Title: "Lost work", Unit: "ops", Help: "Steps taken over from lost workers, and workflows that were started again.", Queries: []Query{
			q("takeovers", `sum(rate(%s{claim="takeover"}[$__rate_interval])) or vector(0)`, metrics.StepClaims.Series()),
			q("workflows", "sum(rate(%s[$__rate_interval])) or vector(0)", metrics.WorkflowsLost.Series()),
		}},
	}}
}

func storage() Dashboard {
	return Dashboard{ID: "windlass-storage", Title: "Windlass / Database, bus and Temporal", Panels: []Panel{
		{
			Title: "Database connections", Unit: "short", Help: "In use, by database.",
			Queries: []Query{q("{{database}}", `sum by (database) (%s{state="used"})`, metrics.DatabaseConns.Series())},
		},
		{
			Title: "Waits for connections", Unit: "s", Help: "Seconds per second that statements wait: raise database.max_conns if it is not 0.",
			Queries: []Query{rate("{{database}}", "database", metrics.DatabaseWaited)},
		},
		{
			Title: "Bus", Unit: "short", Help: "1 while a process is connected.",
			Queries: []Query{q("{{instance}}", "%s", metrics.BusConnected.Series())},
		},
		{
			Title: "Requests to Temporal", Unit: "ops", Help: "By operation.",
			Queries: []Query{rate("{{operation}}", "operation", metrics.TemporalRequests)},
		},
		{
			Title: "Failed requests to Temporal", Unit: "ops", Help: "Polls that time out are not among them.",
			Queries: []Query{q("{{operation}}", "sum by (operation) (rate(%s[$__rate_interval])) or vector(0)", metrics.TemporalFailures.Series())},
		},
		{
			Title: "Failed tasks", Unit: "ops", Help: "Workflow tasks and activities that failed.",
			Queries: []Query{q("{{type}}", "sum by (type) (rate(%s[$__rate_interval])) or vector(0)", metrics.TemporalTaskFailures.Series())},
		},
	}}
}

func system() Dashboard {
	return Dashboard{ID: "windlass-system", Title: "Windlass / System", Panels: []Panel{
		{
			Title: "Versions", Unit: "short", Help: "Processes by version.",
			Queries: []Query{q("{{version}}", "count by (version) (%s)", metrics.BuildInfo.Series())},
		},
		{
			Title: "Memory", Unit: "bytes", Help: "Resident memory by process.",
			Queries: []Query{q("{{instance}}", "process_resident_memory_bytes")},
		},
		{
			Title: "Processor", Unit: "short", Help: "Processors in use by process.",
			Queries: []Query{q("{{instance}}", "rate(process_cpu_seconds_total[$__rate_interval])")},
		},
		{Title: "Goroutines", Unit: "short", Help: "Flat under a steady load.", Queries: []Query{q("{{instance}}", "go_goroutines")}},
		{
			Title: "Open files", Unit: "percentunit", Help: "Part of the limit.",
			Queries: []Query{q("{{instance}}", "process_open_fds / process_max_fds")},
		},
		{
			Title: "Event streams", Unit: "short", Help: "Streams that the gateway has open.",
			Queries: []Query{q("{{instance}}", "%s", metrics.EventStreams.Series())},
		},
		{
			Title: "HTTP requests by status", Unit: "ops", Help: "At the gateway, without streams.",
			Queries: []Query{q("{{http_response_status_code}}", "sum by (http_response_status_code) (rate(%s_count[$__rate_interval]))",
				metrics.HTTPSeconds.Series())},
		},
		{
			Title: "Slowest calls between roles", Unit: "s", Help: "95th percentile of the ten slowest methods.",
			Queries: []Query{q("{{rpc_method}}", "topk(10, histogram_quantile(0.95, sum by (rpc_method, le) (rate(%s_bucket[$__rate_interval]))))",
				metrics.RPCSeconds.Series())},
		},
	}}
}
