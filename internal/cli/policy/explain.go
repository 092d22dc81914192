package policy

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/internal/cli/usage"
	"github.com/windlass-dev/windlass/libs/enum"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// maxDraft is the largest file with a draft that is read, in bytes.
const maxDraft = 1 << 20

func explainCommand(r *command.Runner) *cobra.Command {
	cmd := &cobra.Command{
		Use: "explain RESOURCE", Args: cobra.ExactArgs(1), RunE: r.Run(explain),
		Short: "Say who may call a tool or use a permission, and which policy says so",
		Long: "Say whether you may call a tool (SOURCE__TOOL) or use a permission (AREA.NOUN.VERB), and which rules and policies say so.\n" +
			"With --subject alone, ask about a user as in the last recorded decision; with --claims or --role, about a user with those.",
		Example: "  windlass policy explain orders__search\n  windlass policy explain orders__search --subject https://issuer.test:alice\n" +
			`  windlass policy explain sessions.turns.create --subject bob --claims '{"department":"sales"}'`,
	}
	cmd.Flags().String("subject", "", "subject of another user")
	cmd.Flags().String("claims", "", "claims of that user, as a JSON object")
	cmd.Flags().StringArray("role", nil, "role of that user; may be repeated")
	cmd.Flags().String("draft", "", "file with a draft of a policy (YAML, - for standard input): decide as if it were stored")
	return cmd
}

// Access returns "windlass access".
func Access(r *command.Runner) *cobra.Command {
	matrix := &cobra.Command{
		Use: "matrix TOOL…", Short: "Show which users may call which tools: allow, deny, or ask for an approval", Args: cobra.MinimumNArgs(1),
		Long: "Show for each user and tool what becomes of a call. Users are those of --subject, as in the last recorded decision about each;\n" +
			"without any it is you. Each cell is what 'windlass access explain TOOL' says.",
		Example: "  windlass access matrix orders__search orders__delete --subject alice --subject bob", RunE: r.Run(showMatrix),
	}
	matrix.Flags().StringArray("subject", nil, "subject of a user; may be repeated")
	matrix.Flags().String("draft", "", "file with a draft of a policy (YAML, - for standard input): decide as if it were stored")
	return usage.Group("access", "Access: who may call which tools, and why", nil, explainCommand(r), matrix)
}

func showMatrix(c *command.Call) error {
	subjects, _ := c.Cmd.Flags().GetStringArray("subject") // the flag exists
	req := &policyv1.ExplainAccessMatrixRequest{Subjects: subjects, Tools: c.Args}
	if err := addDraft(c, req); err != nil {
		return err
	}
	var got policyv1.ExplainAccessMatrixResponse
	raw, err := c.Do(req, &got)
	if err != nil {
		return err
	}
	var rows [][]string
	for _, cell := range got.GetCells() {
		rows = append(rows, []string{cell.GetSubject(), cell.GetTool(), enum.Name(cell.GetDecision()), cell.GetRule()})
	}
	return c.PrintTable("", raw, []string{"SUBJECT", "TOOL", "DECISION", "RULE"}, rows...)
}

// addDraft reads the draft that a flag names into a request.
func addDraft(c *command.Call, req proto.Message) error {
	file := c.Flag("draft")
	if file == "" {
		return nil
	}
	draft, err := readDraft(c.App, file)
	if err != nil {
		return err
	}
	return client.Set(req, "draft", draft)
}

func explain(c *command.Call) error {
	subject, claims := c.Flag("subject"), c.Flag("claims")
	roles, _ := c.Cmd.Flags().GetStringArray("role") // the flag exists
	req := &policyv1.ExplainAccessRequest{Permission: c.Args[0]}
	if strings.Contains(c.Args[0], "__") {
		req = &policyv1.ExplainAccessRequest{Tool: c.Args[0]}
	}
	switch {
	case claims == "" && len(roles) == 0:
		req.Subject = subject
	case subject == "":
		return app.Usage("--claims and --role need a --subject")
	case claims != "" && !json.Valid([]byte(claims)):
		return app.Usage(`--claims must be a JSON object, such as '{"department":"finance"}'`)
	case claims != "":
		if err := client.Set(req, "principal", map[string]json.RawMessage{"claims": json.RawMessage(claims)}); err != nil {
			return err
		}
		fallthrough
	default:
		proto.Merge(req, &policyv1.ExplainAccessRequest{Principal: &policyv1.ExplainedPrincipal{Subject: subject, Roles: roles}})
	}
	if err := addDraft(c, req); err != nil {
		return err
	}
	var e policyv1.ExplainAccessResponse
	raw, err := c.Do(req, &e)
	if err != nil {
		return err
	}
	return c.Printf(c.Args[0], raw, "%s", explanation(&e))
}

// explanation formats a decision with each policy and its conditions.
func explanation(e *policyv1.ExplainAccessResponse) string {
	var b strings.Builder
	answer := "denied"
	if e.GetAllowed() {
		answer = "allowed"
	}
	if e.GetApprovalRule() != "" {
		answer = fmt.Sprintf("allowed with an approval (rule %s)", output.Line(e.GetApprovalRule()))
	}
	fmt.Fprintf(&b, "%s: %s\n", answer, output.Line(e.GetReason()))
	for _, p := range e.GetExplained() {
		fmt.Fprintf(&b, "\n%s (%s, priority %d): %s\n", p.GetName(), enum.Name(p.GetEffect()), p.GetPriority(), output.Line(p.GetMessage()))
		for _, m := range p.GetMatchers() {
			mark, what := "no ", "expression"
			if m.GetMatches() {
				mark = "yes"
			}
			if m.GetPath() != "" {
				what = strings.TrimSpace(fmt.Sprintf("%s %s %s", m.GetPath(), enum.Name(m.GetOperator()), strings.Join(m.GetValues(), "|")))
			}
			if m.GetMessage() != "" {
				what += ": " + m.GetMessage()
			}
			fmt.Fprintf(&b, "  %s %s\n", mark, output.Line(what))
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func replayCommand(r *command.Runner) *cobra.Command {
	cmd := &cobra.Command{
		Use: "replay [FILE | --without NAME]", Args: cobra.MaximumNArgs(1),
		Short: "Try a draft of a policy on past decisions, and list what would be different",
		Long: "Decide recorded decisions again with the draft of a policy in FILE (YAML, - for standard input) in place of the stored one, or\n" +
			"--without one, and list the decisions that would be different. Nothing is stored.",
		Example: "  windlass policy get finance-orders -o yaml > draft.yaml\n  windlass policy replay draft.yaml --since 24h",
		RunE:    r.Run(replay),
	}
	cmd.Flags().String("without", "", "name of a policy to leave out, in place of a draft")
	cmd.Flags().String("since", "24h", "decisions from this time on, or from so long ago")
	cmd.Flags().String("until", "", "decisions before this time, or before so long ago")
	cmd.Flags().Int("limit", 100, "list so many differences at most")
	return cmd
}

func replay(c *command.Call) error {
	req, err := replayRequest(c)
	if err != nil {
		return err
	}
	limit, err := c.Cmd.Flags().GetInt("limit")
	if err != nil || limit < 1 {
		return app.Usage("--limit must be more than 0")
	}
	total := &policyv1.ReplayDecisionsResponse{}
	var items []json.RawMessage
	for {
		var page policyv1.ReplayDecisionsResponse
		raw, err := c.Do(req, &page)
		if err != nil {
			return err
		}
		var part struct {
			Differences []json.RawMessage `json:"differences"`
		}
		if err := client.Decode(raw, &part); err != nil {
			return err
		}
		items = append(items, part.Differences...)
		total.Differences = append(total.Differences, page.GetDifferences()...)
		total.Replayed += page.GetReplayed()
		total.Skipped += page.GetSkipped()
		if req.PageToken = page.GetNextPageToken(); req.GetPageToken() == "" || len(items) >= limit {
			break
		}
	}
	total.Differences, items = total.GetDifferences()[:min(limit, len(items))], items[:min(limit, len(items))]
	raw, err := json.Marshal(items)
	if err != nil {
		return fmt.Errorf("encode the differences: %w", err)
	}
	return c.Print("", raw, func(w io.Writer) error { return differences(c, w, total) })
}

func replayRequest(c *command.Call) (*policyv1.ReplayDecisionsRequest, error) {
	req := &policyv1.ReplayDecisionsRequest{PageSize: 100}
	for flag, field := range map[string]string{"since": "start_time", "until": "end_time"} {
		if c.Flag(flag) == "" {
			continue
		}
		at, err := c.Time(flag)
		if err != nil {
			return nil, err
		}
		if err := client.Set(req, field, at); err != nil {
			return nil, err
		}
	}
	without := c.Flag("without")
	if (without == "") == (len(c.Args) == 0) {
		return nil, app.Usage("give either a file with a draft, or --without NAME")
	}
	if without != "" {
		req.Without = without
		return req, nil
	}
	draft, err := readDraft(c.App, c.Args[0])
	if err != nil {
		return nil, err
	}
	return req, client.Set(req, "draft", draft)
}

// readDraft reads a policy in YAML, as "windlass policy get -o yaml" prints it.
func readDraft(a *app.App, name string) (map[string]any, error) {
	in := a.In
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("read the draft: %w", err)
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	text, err := io.ReadAll(io.LimitReader(in, maxDraft+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the draft: %w", err)
	case len(text) > maxDraft:
		return nil, fmt.Errorf("the draft in %s is larger than %d bytes", name, maxDraft)
	}
	var draft map[string]any
	if err := yaml.Unmarshal(text, &draft); err != nil {
		return nil, fmt.Errorf("the draft in %s is not YAML: %w", name, err)
	}
	if kind, ok := draft["kind"]; ok && kind != "policy" {
		return nil, fmt.Errorf("the draft in %s is of kind %v, not policy", name, kind)
	}
	delete(draft, "kind")
	return draft, nil
}

func differences(c *command.Call, w io.Writer, r *policyv1.ReplayDecisionsResponse) error {
	var rows [][]string
	for _, d := range r.GetDifferences() {
		was := d.GetDecision()
		rows = append(rows, []string{
			c.Ago(was.GetCreateTime().AsTime()), was.GetSubject(), was.GetResource(), word(was.GetAllowed()), word(d.GetAllowed()),
			word(d.GetAllowedNow()), output.Short(d.GetReason(), 80),
		})
	}
	if len(rows) > 0 {
		if err := output.Rows(w, []string{"AGE", "SUBJECT", "RESOURCE", "WAS", "DRAFT", "NOW", "REASON"}, rows); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%d of %d decisions would be different", len(rows), r.GetReplayed())
	if err == nil && r.GetSkipped() > 0 {
		_, err = fmt.Fprintf(w, "; %d could not be decided again, because their principal is not recorded", r.GetSkipped())
	}
	if err == nil {
		_, err = fmt.Fprintln(w)
	}
	return err
}

func word(allowed bool) string {
	if allowed {
		return "allowed"
	}
	return "denied"
}
