package monitoring

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/windlass-dev/windlass/libs/metrics"
)

// sampled are values of labels in Samples; other labels have one value.
var sampled = map[string][]string{
	"state":   {"queued", "running", "waiting", "used", "available", "idle", "max"},
	"outcome": {"completed", "failed"}, "claim": {"first", "takeover"},
	"status": {"ok", "unavailable"}, "http_response_status_code": {"200", "503"},
}

// ofRuntime are the metrics of Go and of the process that dashboards and rules use.
var ofRuntime = []string{
	"process_resident_memory_bytes", "process_cpu_seconds_total", "process_open_fds", "process_max_fds",
	"go_goroutines",
}

// Samples are two scrapes of a mesh that has measured every metric, separated by a line "# next". promcheck runs the queries of dashboards
// over them.
func Samples() ([]byte, error) {
	out := bytes.NewBufferString(written)
	for i, value := range []int{10, 20} {
		if i > 0 {
			fmt.Fprintln(out, "# next")
		}
		for _, m := range metrics.All() {
			for _, labels := range combinations(m.Labels) {
				sample(out, m, labels, value)
			}
		}
		for _, name := range ofRuntime {
			fmt.Fprintf(out, "%s %d\n", name, value)
		}
	}
	return out.Bytes(), nil
}

func sample(out *bytes.Buffer, m *metrics.Metric, labels []string, value int) {
	series := func(suffix string, more ...string) {
		all := strings.Join(append(labels[:len(labels):len(labels)], more...), ",")
		if all != "" {
			all = "{" + all + "}"
		}
		fmt.Fprintf(out, "%s%s%s %d\n", m.Series(), suffix, all, value)
	}
	if m.Kind != metrics.Histogram {
		series("")
		return
	}
	series("_bucket", `le="10.0"`)
	series("_bucket", `le="+Inf"`)
	series("_sum")
	series("_count")
}

// combinations are the labels with values, in all combinations of those.
func combinations(names []string) [][]string {
	out := [][]string{nil}
	for _, name := range names {
		values := sampled[name]
		if values == nil {
			values = []string{"some"}
		}
		var next [][]string
		for _, before := range out {
			for _, value := range values {
				next = append(next, append(before[:len(before):len(before)], fmt.Sprintf("%s=%q", name, value)))
			}
		}
		out = next
	}
	return out
}
