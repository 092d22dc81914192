//go:build unix

package bundle

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/fault"
)

const size = 1 << 20 // what a bundle may have

// filled repeats a part until the text is as long as a bundle may be, or has as many marks as it may have. Each %d is a number of its own.
func filled(begin, part, end string, marks int) string {
	var b strings.Builder
	b.WriteString(begin)
	marks -= countMarks(begin + end).count
	each, numbered := countMarks(part).count, strings.Contains(part, "%d")
	for i := 0; b.Len() < size-len(part)-len(end)-10 && (marks <= 0 || (i+1)*each <= marks); i++ {
		if numbered {
			fmt.Fprintf(&b, part, i)
		} else {
			b.WriteString(part)
		}
	}
	b.WriteString(end)
	return b.String()
}

func nestedBlocks(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

// TestHostileBundlesAreBounded parses what fits into a request and is made to cost more than it weighs. Rows with marks stay just
// below that bound, so that the parser sees them.
func TestHostileBundlesAreBounded(t *testing.T) {
	const agent = "kind: agent\nid: a\n"
	const marks, values, documents, indented = "marks of values", "", "documents", "indented"
	below := maxMarks
	for _, row := range []struct{ name, yaml, want string }{
		{"500,000 items", filled(agent+"tools: [", "a,", "]", 0), marks},
		{"as many items as there may be", filled(agent+"tools: [", "a,", "]", below), values},
		{"groups", filled(agent+"tools: [", "group:g%d,", "]", below), values},
		{"items on lines", filled(agent+"tools:\n", "- a\n", "", 0), marks},
		{"items on lines, below", filled(agent+"tools:\n", "- a\n", "", below), values},
		{"100,000 keys", filled(agent, "k%d: 1\n", "", 0), marks},
		{"unknown keys", filled(agent, "k%d: 1\n", "", below), "more mistakes"},
		{"keys of an object", filled(agent+"params_schema: {", "k%d: 1, ", "}", below), values},
		{"keys without values", filled(agent+"params_schema: {", "k%d,", "}", below), values},
		{"pairs of nothing", filled(agent+"params_schema: {a: [", "a: ,", "]}", below), values},
		{"empty messages", filled(agent+"instruction_rules: [", "{},", "]", below), values},
		{"wrong messages", filled(agent+"approvals: [", "{a: b},", "]", below), "more mistakes"},
		{"labels", filled(agent+"labels: {", "k%d: a, ", "}", below), values},
		{"one key again and again", filled(agent, "id: a\n", "", below), "more mistakes"},
		{"long keys", filled(agent, strings.Repeat("k", 100_000)+"%d: 1\n", "", below), "could not find expected ':'"},
		{"a long key", agent + "? " + strings.Repeat("k", size-100) + "\n: 1", "is no field"},
		{
			"a long id with mistakes", agent[:len(agent)-2] + strings.Repeat("x", size/2) + filled("\n", "k%d: 1\n", "", 1000)[:4000],
			"more mistakes",
		},
		{"two long ids", strings.Repeat("---\n"+agent[:len(agent)-2]+strings.Repeat("x", size/3)+"\n", 2), "is in document 1 already"},
		{"flow without end", filled(agent+"params_schema: ", "[", "", 0), marks},
		{"deep flow", filled(agent+"params_schema: ", "[", "", below), "max depth"},
		{"deep flow that ends", agent + "params_schema: {a: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "}", "nested more than"},
		{"deep blocks", agent + "params_schema:\n" + nestedBlocks(1400), indented},
		{"deep blocks, below", agent + "params_schema:\n" + nestedBlocks(maxIndent), "is no field"},
		{"dashes", filled("", "- ", "", 0), marks},
		{"dashes in one line", strings.Repeat("- ", 9000), indented},
		{"deep blocks with comments between", filled(strings.Repeat("- ", 9000)+"\n", "#\n\n", "", below), indented},
		{"deep blocks with comments between, below", filled(strings.Repeat("- ", maxIndent/2)+"\n", "#\n\n", "", below), "want fields"},
		{"comments between and an end", filled(strings.Repeat("- ", maxIndent/2)+"a\n", "#\n\n", "- b\n", below), "want fields"},
		{"comments at different columns", filled(agent+"params_schema:\n"+nestedBlocks(maxIndent), "  #\n #\n#\n\n", "", below), "is no field"},
		{"comments only", filled("", "# \n", "", 0), marks},
		{"comments only, below", filled("", "# a comment\n\n", "", below), "holds no document"},
		{"comments in a flow", filled(agent+"tools: [\n", "a, #\n", "]", below), values},
		{"an alias", agent + "model: &m a\ninstructions: *m", "anchors and aliases"},
		{
			"aliases of aliases", agent + "labels: &a [a,a,a]\ntools: &b [*a,*a,*a]\nshields: &c [*b,*b,*b]\nagents: [*c,*c,*c]",
			"anchors and aliases",
		},
		{"many anchors", filled(agent+"tools: [", "&a%d a,", "]", below), values},
		{"merge keys", filled(agent+"params_schema:\n", " <<: {a: *a}\n", "", below), "unknown anchor"},
		{"a large whole number", filled(agent+"max_output_tokens: ", "9", "", 0), "want a whole number"},
		{"a large exponent", filled(agent+"temperature: 1e", "9", "", 0), "want a number"},
		{"many digits", filled(agent+"temperature: 0.", "9", "", 0), values},
		{"underscores", filled(agent+"max_output_tokens: 1", "_", "", 0), values},
		{"a large number in base 16", filled(agent+"max_output_tokens: 0x", "f", "", 0), "want a whole number"},
		{"many large numbers", filled(agent+"params_schema: {a: [", "99999999999999999999,", "]}", below), values},
		{"dates", filled(agent+"params_schema: {a: [", "2001-01-01,", "]}", below), values},
		{"documents without content", filled("", "---\n", "", below), documents},
		{"100,000 documents", filled("", "---\n", "", 0), marks},
		{"documents", filled("", "---\nkind: agent\nid: a%d\n", "", below), documents},
		{"ends of documents", filled("a\n", "...\n", "", 0), "want fields"},
		{"directives", filled("", "%%TAG !a%d! b\n", "---\na", 0), "begin with %"},
		{"tabs", filled("", "\t", "", 0), "cannot start any token"},
		{"tabs before text", filled("", "\t", "a", 0), indented},
		{"blanks", filled("", " ", "", 0), "holds no document"},
		{"blank lines", filled("", "\n", "", 0), "holds no document"},
		{"NUL", filled(agent+"model: ", "\x00", "", 0), "control characters"},
		{"not UTF-8", filled(agent+"model: ", "\xff", "", 0), "UTF-8"},
		{"a long line", filled(agent+"model: ", "a ", "", 0), values},
		{"a long quoted text", filled(agent+"model: \"", "\\n\n", "\"", 0), values},
		{"a long block of text", filled(agent+"instructions: |\n", " a\n", "", 0), values},
		{"a folded block with blank lines", filled(agent+"instructions: >\n", " a\n\n", "", 0), values},
		{"binary", filled(agent+"model: !!binary ", "YQ==", "", 0), values},
		{"a long tag", filled(agent+"model: !", "a", " a", 0), "is not known here"},
		{"tags", filled(agent+"tools: [", "!!str a,", "]", below), values},
		{
			"dense prose is fine", filled(agent+"instructions: |\n",
				"  # A heading, with a list:\n  - of one thing, or two\n  and words that follow it without a mark, as in most texts\n", "", below),
			values,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			begin := processorTime(t)
			_, err := Parse(row.yaml)
			used := processorTime(t) - begin
			runtime.ReadMemStats(&after)
			got := after.TotalAlloc - before.TotalAlloc // in all, not at one time
			t.Logf("%d KiB: %v of processor time, allocated %.1f MiB", len(row.yaml)>>10, used, float64(got)/(1<<20))
			if got > 64<<20 {
				t.Errorf("allocated %d MiB", got>>20)
			}
			if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
				t.Errorf("%.300v, want %q", err, row.want)
			}
			if f := fault.As(err); f != nil && len(f.Text()) > 128<<10 {
				t.Errorf("the error has %d bytes", len(f.Text()))
			}
		})
	}
}

func processorTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
