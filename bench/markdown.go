package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/bench/model"
)

// markdown formats the report as docs/reference/performance.md. It omits a database's address, which may hold a password.
func (r *report) markdown() string {
	var b strings.Builder
	title, args := "Performance", strings.Join(r.options.args, " ")
	if dsn := r.options.postgres; dsn != "" {
		title, args = "Performance on PostgreSQL", strings.ReplaceAll(args, dsn, "DSN")
	}
	fmt.Fprintf(&b, "# %s\n\n", title)
	b.WriteString("The cost of a turn in Windlass, compared with the same model and tool calls made directly. " +
		"The benchmark writes this page. Do not edit it; run the benchmark:\n\n")
	fmt.Fprintf(&b, "```sh\nmake bench ARGS='%s'\n```\n\n", args)
	b.WriteString("## How it is measured\n\n")
	fmt.Fprintf(&b, how, r.options.tokens, milliseconds(r.options.pace.First), milliseconds(r.options.pace.Next), milliseconds(r.options.rest))
	b.WriteString("\n## Where and when\n\n" + r.where())
	for _, d := range r.deployments {
		fmt.Fprintf(&b, "\n## %s\n", d.heading())
		for _, s := range d.sections(r.options.timeline) {
			fmt.Fprintf(&b, "\n### %s\n\n", s.title)
			if s.note != "" {
				b.WriteString(s.note + "\n\n")
			}
			b.WriteString(s.table.markdown())
		}
		b.WriteString("\n")
		for _, f := range d.facts() {
			b.WriteString("- " + f + "\n")
		}
	}
	b.WriteString("\n## How to read it\n\n")
	for _, line := range r.reading() {
		b.WriteString("- " + line + "\n")
	}
	return b.String()
}

const how = `A turn consists of two streamed model calls and one call of an MCP tool over HTTP: the model answers with some text and a tool call, reads
the tool's result and answers again. Each answer has %d tokens. The model is a server in the benchmark that implements the OpenAI
protocol. It runs once without delay ("zero") and once with a delay of %s before the first token and %s before each further token
("paced"), both counted from the request, so that the load of the machine does not change them.
The tool is the calculator of ` + "`examples/`" + `. Rows with "9 calls" are turns with ten model calls and nine tool calls, one after the other. The
cost of each further round is one eighth of the difference to turns with one call.

- **Windlass**: ` + "`POST /v1/sessions/{id}/turns`" + ` with ` + "`Accept: text/event-stream`" + `: the response is the turn's event stream, read to its end. First text is
  the first ` + "`message.delta`" + `.
- **Floor**: the same calls, made by the benchmark directly to the same servers, with exactly the requests that Windlass sent, over
  kept-alive connections, streamed. It has no journal, no policy and no workflow: it is the cost without Windlass.

Both are timed from the start of the request, in one run, in alternating blocks if turns run one at a time. These turns are separated
by a pause of %s, in which the mesh completes the work that follows the end of a turn; rows "without pause" have no pause.
`

func (d *deployment) heading() string {
	if d.name == splitMesh {
		return "Separate processes (`windlassd`), " + d.database
	}
	return "One process (`windlass up`), " + d.database
}

func (r *report) where() string {
	m := r.machine
	var b strings.Builder
	for _, line := range [][2]string{
		{"Date", r.date.UTC().Format(time.DateOnly)},
		{"Machine", m.Processor},
		{"Memory", m.Memory},
		{"System", m.System},
		{"Go", m.Go},
		{"Commit", m.Commit},
		{"Load average before", m.Load},
	} {
		if line[1] != "" {
			fmt.Fprintf(&b, "- %s: %s\n", line[0], line[1])
		}
	}
	b.WriteString("- Everything runs on this one machine: client, model server, tool server, Windlass, Temporal and its database.\n")
	return b.String()
}

// reading explains the figures. Sentences with figures are computed, the others always hold.
func (r *report) reading() []string {
	var out []string
	for _, d := range r.deployments {
		var met, missed []string
		for _, re := range d.reaches() {
			if re.missed <= 1 {
				met = append(met, re.name)
			} else {
				missed = append(missed, fmt.Sprintf("%s (%s, target %s)", re.name, re.got, re.want))
			}
		}
		line := fmt.Sprintf("%s: %d of %d goals met.", d.heading(), len(met), len(met)+len(missed))
		if len(missed) > 0 {
			line += " Missed: " + strings.Join(missed, "; ") + "."
		}
		out = append(out, line)
		for _, row := range d.rows {
			if row.concurrency == 1 && row.model == model.Paced {
				floor, mesh := spreadOf(row.floor.samples, totalOf).p50, spreadOf(row.mesh.samples, totalOf).p50
				out = append(out,
					fmt.Sprintf("With the paced model, a turn takes %s instead of %s: %s. Real models take seconds, so the ratio is closer to 1.",
						milliseconds(mesh), milliseconds(floor), ratio(mesh, floor)))
			}
		}
	}
	for _, d := range r.deployments {
		out = append(out, d.tails()...)
	}
	var load float64
	if _, err := fmt.Sscan(r.machine.Load, &load); err == nil && load > 0.5 {
		out = append(out,
			fmt.Sprintf("The machine was not idle (load %s before the start), so the figures include other programs. Measure again on an idle "+
				"machine before you quote them.", r.machine.Load))
	}
	return append(out,
		"With model time zero the ratio is large because the floor does almost no work. Look at the difference, which is the cost of a "+
			"durable turn.",
		"With many concurrent turns, processor time per turn limits turns/s. The benchmark's client and model server use the same processors.",
		"The p99 of a few hundred turns depends on the two or three slowest; the tables contain the number of turns.",
		"Other load on the machine changes the figures. Compare figures within one run, and compare runs only on an idle machine.",
	)
}

// tails lists the rows in which a few turns took far longer than the others.
func (d *deployment) tails() []string {
	var out []string
	for _, row := range d.rows {
		if total := spreadOf(row.mesh.samples, totalOf); row.concurrency > 1 && total.p99 > 3*total.p50 {
			out = append(out, fmt.Sprintf("%s, model time %s, %d at once: p99 of a turn is %s p50. Some turns stall, which also lowers turns/s.",
				d.heading(), modelTitle(row.model), row.concurrency, ratio(total.p99, total.p50)))
		}
	}
	return out
}

func milliseconds(d time.Duration) string { return millis(d) + " ms" }
