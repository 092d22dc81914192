package main

import (
	"fmt"
	"strings"
	"time"
)

// markdown is the report as docs/reference/performance.md. Of a database it does not tell the address, which may hold a password.
func (r *report) markdown() string {
	var b strings.Builder
	title, args := "Performance", strings.Join(r.options.args, " ")
	if dsn := r.options.postgres; dsn != "" {
		title, args = "Performance on PostgreSQL", strings.ReplaceAll(args, dsn, "DSN")
	}
	fmt.Fprintf(&b, "# %s\n\n", title)
	b.WriteString("What a turn costs in Windlass beside the same model and tool calls made directly. " +
		"This page is written by the benchmark; do not edit it, run it:\n\n")
	fmt.Fprintf(&b, "```sh\nmake bench ARGS='%s'\n```\n\n", args)
	b.WriteString("## How it is measured\n\n")
	fmt.Fprintf(&b, how, r.options.tokens, milliseconds(r.options.pace.first), milliseconds(r.options.pace.next), milliseconds(r.options.rest))
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

const how = `A turn is two streamed model calls and one call of an MCP tool over HTTP: the model answers with some words and a tool call, reads
the tool's result and answers again. Each answer has %d tokens. The model is a server inside the benchmark that speaks the OpenAI
protocol, once without any time of its own ("zero") and once with %s until the first token and %s for each further one ("paced"),
counted from the request on, however busy the machine is.
The tool is the calculator of ` + "`examples/`" + `. Rows with "9 calls" are turns of ten model calls with nine tool calls between them, one after the
other; what a further round adds is an eighth of what they add over turns with one call.

- **Windlass**: ` + "`POST /v1/sessions/{id}/turns`" + ` with ` + "`Accept: text/event-stream`" + `: the answer is the turn's event stream, read until it ends. First text is the first ` + "`message.delta`" + `.
- **Floor**: the same calls straight from the benchmark, to the same servers, with the very requests that Windlass sent, over
  kept connections, streamed. No journal, no policy, no workflow: what is left when everything Windlass does is left out.

Both are timed from the moment the client begins to send, in one run, in alternating blocks when turns are made one at a time. Those come with
a pause of %s between them, in which the mesh does what is left to do after a turn's end; rows "without rest" have none.
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
		{"Machine", m.processor},
		{"Memory", m.memory},
		{"System", m.system},
		{"Go", m.golang},
		{"Commit", m.commit},
		{"Load average before", m.load},
	} {
		if line[1] != "" {
			fmt.Fprintf(&b, "- %s: %s\n", line[0], line[1])
		}
	}
	b.WriteString("- Everything runs on this one machine: client, model server, tool server, Windlass, Temporal and its database.\n")
	return b.String()
}

// reading says what the figures mean. Sentences with figures are computed, the others hold whatever comes out.
func (r *report) reading() []string {
	var out []string
	for _, d := range r.deployments {
		var met, missed []string
		for _, re := range d.reaches() {
			if re.missed <= 1 {
				met = append(met, re.name)
			} else {
				missed = append(missed, fmt.Sprintf("%s (%s, wanted %s)", re.name, re.got, re.want))
			}
		}
		line := fmt.Sprintf("%s: %d of %d goals met.", d.heading(), len(met), len(met)+len(missed))
		if len(missed) > 0 {
			line += " Missed: " + strings.Join(missed, "; ") + "."
		}
		out = append(out, line)
		for _, row := range d.rows {
			if row.concurrency == 1 && row.model == paced {
				floor, mesh := spreadOf(row.floor.samples, totalOf).p50, spreadOf(row.mesh.samples, totalOf).p50
				out = append(out, fmt.Sprintf("With a model that takes its time, a turn takes %s instead of %s: %s. Real models take seconds, so there the ratio nears 1.",
					milliseconds(mesh), milliseconds(floor), ratio(mesh, floor)))
			}
		}
	}
	for _, d := range r.deployments {
		out = append(out, d.tails()...)
	}
	var load float64
	if _, err := fmt.Sscan(r.machine.load, &load); err == nil && load > 0.5 {
		out = append(out, fmt.Sprintf("The machine was not at rest (load %s before the start): the figures contain other programs' work. Measure again on a quiet machine before quoting them.", r.machine.load))
	}
	return append(out,
		"With model time zero the ratio to the floor is large by nature: the floor does almost nothing. What counts there is the difference, the price of a durable turn.",
		"At many turns at once, processor time per turn bounds turns/s from above. The benchmark's own client and model server take their part of the same processors.",
		"p99 of a few hundred turns is the two or three slowest of them; the turns are counted in the tables.",
		"Other work on the machine shows at once. Compare figures of one run with each other, and runs only on a quiet machine.",
	)
}

// tails names the rows in which a few turns took far longer than the others.
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
