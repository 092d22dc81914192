package monitoring

import (
	"fmt"

	"github.com/windlass-dev/windlass/libs/metrics"
)

// Alert wakes a person, with severity "page", or leaves a note, with severity "ticket".
type Alert struct {
	// Name is the alert's, and the heading of its runbook.
	Name string
	// Expr fires when it has had a value For so long.
	Expr, For string
	Severity  string
	// Summary says what is wrong.
	Summary string
	// Firing are series, in promtool's notation at intervals of a minute, with which it fires after six hours. Quiet are such with which it
	// does not.
	Firing, Quiet []Series
	// Labels are those that its instance has with Firing.
	Labels map[string]string
}

// Series are the values of one series, such as "0x60 1+1x300".
type Series struct{ Name, Values string }

// Objectives of the mesh. The part of turns that may fail, or begin to answer late, is 1 minus them.
const (
	turnObjective  = 0.99
	tokenObjective = 0.95
	tokenBound     = "10"
)

// windows of the burn rates.
var windows = []string{"5m", "30m", "1h", "6h"}

// Recording is a rule that stores the value of a query under a name.
type Recording struct{ Record, Expr string }

// Recordings are the part of turns that fails, and that begins to answer late, over each window.
func Recordings() []Recording {
	var out []Recording
	for _, w := range windows {
		out = append(out, Recording{
			"windlass:turn_errors:ratio_rate" + w, fmt.Sprintf(`(sum(max without (instance, pod) (rate(%[1]s{outcome="failed"}[%[2]s]))) or vector(0)) `+
				`/ (sum(max without (instance, pod) (rate(%[1]s{outcome=~"completed|failed"}[%[2]s]))) > 0)`, metrics.TurnsEnded.Series(), w),
		}, Recording{
			"windlass:late_tokens:ratio_rate" + w, fmt.Sprintf(`1 - sum(rate(%[1]s_bucket{le=~"%[3]s(\\.0)?"}[%[2]s])) / (sum(rate(%[1]s_count[%[2]s])) > 0)`,
				metrics.FirstTokenSeconds.Series(), w, tokenBound),
		})
	}
	return out
}

// burn fires while the errors of both windows use up the objective's budget so many times faster than it allows.
func burn(ratio string, times, objective float64, long, short string) string {
	return fmt.Sprintf("windlass:%[1]s:ratio_rate%[2]s > %[4]g * (1 - %[5]g) and windlass:%[1]s:ratio_rate%[3]s > %[4]g * (1 - %[5]g)",
		ratio, long, short, times, objective)
}

// above is an alert that fires while the largest value of a metric of any process exceeds a limit.
func above(name, severity, duration string, m *metrics.Metric, limit float64, summary string) Alert {
	return Alert{
		Name: name, Severity: severity, For: duration, Summary: summary, Expr: fmt.Sprintf("max(%s) > %g", m.Series(), limit),
		Firing: []Series{{m.Series(), fmt.Sprintf("%gx360", limit+1)}}, Quiet: []Series{{m.Series(), fmt.Sprintf("%gx360", limit)}},
	}
}

// Alerts are those of a mesh.
func Alerts() []Alert {
	all := []Alert{
		above("WindlassTurnsQueue", "page", "5m", metrics.OldestQueued, 120, "Turns are accepted and do not begin."),
		above("WindlassOutboxStuck", "page", "5m", metrics.OutboxOldest, 120, "Workflows of accepted turns are not started."),
		above("WindlassUnknownOutcomes", "ticket", "15m", metrics.Unresolved, 0, "Tool calls with an unknown outcome wait for a person."),
		above("WindlassApprovalsOld", "ticket", "5m", metrics.ApprovalsOldest, 14400, "An approval has waited for more than four hours."),
		above("WindlassWebhooksBehind", "ticket", "10m", metrics.DeliveriesLate, 1800, "Webhooks that are due are not sent."),
		above("WindlassSchedulesBehind", "page", "5m", metrics.FiresOldest, 300, "Schedules are due and do not begin turns."),
	}
	return append(append(all, objectives()...), parts()...)
}

// objectives fire when users see too many errors.
func objectives() []Alert {
	completed, failed := metrics.TurnsEnded.Series()+`{outcome="completed"}`, metrics.TurnsEnded.Series()+`{outcome="failed"}`
	bucket, count := metrics.FirstTokenSeconds.Series()+`_bucket{le="10"}`, metrics.FirstTokenSeconds.Series()+"_count"
	return []Alert{
		{
			Name: "WindlassTurnErrorsFast", Severity: "page", For: "2m", Expr: burn("turn_errors", 14.4, turnObjective, "1h", "5m"),
			Summary: "Turns fail so often that a month's budget of errors lasts two days.",
			Firing:  []Series{{completed, "0+10x360"}, {failed, "0+5x360"}}, Quiet: []Series{{completed, "0+10x360"}, {failed, "0+0.05x360"}},
		},
		{
			Name: "WindlassTurnErrorsSlow", Severity: "ticket", For: "15m", Expr: burn("turn_errors", 6, turnObjective, "6h", "30m"),
			Summary: "Turns fail so often that a month's budget of errors lasts five days.",
			Firing:  []Series{{completed, "0+10x360"}, {failed, "0+1x360"}}, Quiet: []Series{{completed, "0+10x360"}, {failed, "0x360"}},
		},
		{
			Name: "WindlassAnswersLate", Severity: "page", For: "5m", Expr: burn("late_tokens", 6, tokenObjective, "1h", "5m"),
			Summary: "A third of the answers begin after more than ten seconds.",
			Firing:  []Series{{bucket, "0+1x360"}, {count, "0+10x360"}}, Quiet: []Series{{bucket, "0+9.9x360"}, {count, "0+10x360"}},
		},
		{
			Name: "WindlassHTTPErrors", Severity: "page", For: "5m", Summary: "The gateway answers more than 5 % of the requests with 5xx.",
			Expr: fmt.Sprintf(`sum(rate(%[1]s_count{http_response_status_code=~"5.."}[5m])) / sum(rate(%[1]s_count[5m])) > 0.05`, metrics.HTTPSeconds.Series()),
			Firing: []Series{
				{metrics.HTTPSeconds.Series() + `_count{http_response_status_code="200"}`, "0+10x360"},
				{metrics.HTTPSeconds.Series() + `_count{http_response_status_code="503"}`, "0+1x360"},
			},
			Quiet: []Series{
				{metrics.HTTPSeconds.Series() + `_count{http_response_status_code="200"}`, "0+100x360"},
				{metrics.HTTPSeconds.Series() + `_count{http_response_status_code="503"}`, "0+1x360"},
			},
		},
	}
}

// failing fires while more than a tenth of the counted things do not have the status ok.
func failing(name, by, value string, m *metrics.Metric, summary string) Alert {
	series := m.Series()
	good, bad := fmt.Sprintf("%s{%s=%q, status=\"ok\"}", series, by, value),
		fmt.Sprintf("%s{%s=%q, status=\"unavailable\"}", series, by, value)
	return Alert{
		Name: name, Severity: "ticket", For: "10m", Summary: summary, Labels: map[string]string{by: value},
		Expr:   fmt.Sprintf(`sum by (%[2]s) (rate(%[1]s{status!="ok"}[10m])) / sum by (%[2]s) (rate(%[1]s[10m])) > 0.1`, series, by),
		Firing: []Series{{good, "0+5x360"}, {bad, "0+1x360"}}, Quiet: []Series{{good, "0+20x360"}, {bad, "0+1x360"}},
	}
}

// rising fires while a counter rises by more than a number in ten minutes, in all processes together. It sees no rise from nothing: the
// counters begin at zero with their process, which may be new, as the one of Firing.
func rising(name, severity string, m *metrics.Metric, selector string, limit float64, summary string) Alert {
	return Alert{
		Name: name, Severity: severity, For: "5m", Summary: summary,
		Expr:   fmt.Sprintf("sum(increase(%s%s[10m])) > %g", m.Series(), selector, limit),
		Firing: []Series{{m.Series() + selector, fmt.Sprintf("_x345 0x6 %gx20", 2*limit)}},
		Quiet:  []Series{{m.Series() + selector, fmt.Sprintf("%gx360", limit)}},
	}
}

// parts fire when a part of the mesh fails.
func parts() []Alert {
	instance := map[string]string{"instance": "a"}
	at := `{instance="a"}`
	return []Alert{
		{
			Name: "WindlassGone", Severity: "page", For: "5m", Summary: "No process of the mesh is scraped.",
			Expr:   fmt.Sprintf("absent(%s)", metrics.BuildInfo.Series()),
			Firing: []Series{{"up", "0x360"}}, Quiet: []Series{{metrics.BuildInfo.Series(), "1x360"}},
		},
		failing("WindlassModelErrors", "provider", "house", metrics.ModelCalls, "More than a tenth of the calls of a model provider fail."),
		failing("WindlassToolErrors", "source", "orders", metrics.ToolCalls, "More than a tenth of the calls of a tool source fail."),
		rising("WindlassTakeovers", "ticket", metrics.StepClaims, `{claim="takeover"}`, 10, "Steps are taken over from lost workers again and again."),
		rising("WindlassWorkflowsLost", "ticket", metrics.WorkflowsLost, "", 1, "Workflows of turns are gone and were started again."),
		rising("WindlassOverloaded", "page", metrics.TurnsRefused, "", 10, "Turns are refused since the mesh is overloaded."),
		rising("WindlassTemporalErrors", "page", metrics.TemporalFailures, "", 100, "Requests to Temporal fail."),
		{
			Name: "WindlassWorkersFull", Severity: "ticket", For: "15m", Summary: "Workers run as many turns as they may.",
			Expr:   fmt.Sprintf("sum(%s) / sum(%s) > 0.9", metrics.WorkerRuns.Series(), metrics.WorkerPlaces.Series()),
			Firing: []Series{{metrics.WorkerRuns.Series(), "250x360"}, {metrics.WorkerPlaces.Series(), "256x360"}},
			Quiet:  []Series{{metrics.WorkerRuns.Series(), "25x360"}, {metrics.WorkerPlaces.Series(), "256x360"}},
		},
		{
			Name: "WindlassDatabaseWaits", Severity: "ticket", For: "10m", Summary: "Statements wait for a connection to the database.",
			Expr:   fmt.Sprintf("sum by (database) (rate(%s[5m])) > 0.5", metrics.DatabaseWaited.Series()),
			Labels: map[string]string{"database": "sessions"},
			Firing: []Series{{metrics.DatabaseWaited.Series() + `{database="sessions"}`, "0+60x360"}},
			Quiet:  []Series{{metrics.DatabaseWaited.Series() + `{database="sessions"}`, "0+6x360"}},
		},
		{
			Name: "WindlassBusAway", Severity: "ticket", For: "5m", Summary: "A process is not connected to the bus: events arrive late.",
			Expr: metrics.BusConnected.Series() + " == 0", Labels: instance,
			Firing: []Series{{metrics.BusConnected.Series() + at, "0x360"}}, Quiet: []Series{{metrics.BusConnected.Series() + at, "1x360"}},
		},
		{
			Name: "WindlassCertificateExpires", Severity: "ticket", For: "1h", Summary: "A certificate expires within a week.",
			Expr:   fmt.Sprintf(`min by (certificate) (%s) < 604800`, metrics.CertificateExpiry.Series()),
			Labels: map[string]string{"certificate": "mesh"},
			Firing: []Series{{metrics.CertificateExpiry.Series() + `{certificate="mesh"}`, "600000x360"}},
			Quiet:  []Series{{metrics.CertificateExpiry.Series() + `{certificate="mesh"}`, "700000x360"}},
		},
		{
			Name: "WindlassMemoryFull", Severity: "ticket", For: "15m", Summary: "A process uses almost all of the memory that it may use.",
			// Turns are refused from 95 % on. Resident memory and Go's limit do not say: the one holds garbage, the other follows what is in use.
			Expr:   fmt.Sprintf("%s / %s > 0.9", metrics.MemoryUsed.Series(), metrics.MemoryLimit.Series()),
			Labels: instance,
			Firing: []Series{{metrics.MemoryUsed.Series() + at, "91x360"}, {metrics.MemoryLimit.Series() + at, "100x360"}},
			Quiet:  []Series{{metrics.MemoryUsed.Series() + at, "90x360"}, {metrics.MemoryLimit.Series() + at, "100x360"}},
		},
	}
}
