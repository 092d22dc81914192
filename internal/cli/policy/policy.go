// Package policy has the commands that create, change, explain and try out access policies.
package policy

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/output"
	"github.com/windlass-dev/windlass/libs/enum"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// Noun returns "windlass policy".
func Noun() command.Noun {
	return command.Noun{
		Name: "policy", Plural: "access_policies", Short: "Access policies: who may use which tools and permissions",
		List: &policyv1.ListAccessPoliciesRequest{}, Get: &policyv1.GetAccessPolicyRequest{}, Remove: &policyv1.DeleteAccessPolicyRequest{},
		Manifest: true, More: commands,
		Header: []string{"NAME", "EFFECT", "PRIORITY", "DISABLED", "REVISION", "MATCHES", "GRANTS"},
		Read: command.Typed((*policyv1.AccessPolicy).GetName, func(p *policyv1.AccessPolicy, _ time.Time) []string {
			return []string{
				p.GetName(), enum.Name(p.GetEffect()), fmt.Sprint(p.GetPriority()), output.YesNo(p.GetDisabled()), fmt.Sprint(p.GetRevision()),
				output.Cell(conditions(p)), output.Cell(grants(p)),
			}
		}),
	}
}

func commands(r *command.Runner) []*cobra.Command {
	create := &cobra.Command{
		Use: "create NAME", Short: "Create an access policy", Args: cobra.ExactArgs(1), RunE: r.Run(create),
		Long: "Create an access policy, which allows (or, with --deny, denies) tools and permissions to the users whose claims match.\n" +
			"All --match and the --expression must match. The policy applies to the next call.",
		Example: "  windlass policy create finance-orders --match 'department equals finance' --tool 'orders__*'\n" +
			"  windlass policy create no-deletes --deny --match '$roles not_contains admin' --tool '*__delete*'",
	}
	policyFlags(create)
	update := &cobra.Command{
		Use: "update NAME", Short: "Change an access policy", Args: cobra.ExactArgs(1), RunE: r.Run(update),
		Long:    "Change an access policy. What a flag gives replaces what the policy had; without a flag it stays.",
		Example: "  windlass policy update finance-orders --tool 'orders__search'\n  windlass policy update finance-orders --disabled",
	}
	policyFlags(update)
	update.Flags().Bool("disabled", false, "switch the policy off; --disabled=false switches it on")
	update.Flags().Bool("allow", false, "allow what the policy grants")
	return []*cobra.Command{create, update, explainCommand(r), replayCommand(r)}
}

func policyFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArray("match", nil, "condition on a claim, as 'PATH OPERATOR VALUE[,VALUE]'; the operators are equals, not_equals, contains, "+
		"not_contains and matches; may be repeated")
	f.String("expression", "", "condition in CEL, such as 'principal.claims.level >= 3'")
	f.StringArray("tool", nil, "glob over tools; may be repeated")
	f.StringArray("tool-group", nil, "name of a tool group; may be repeated")
	f.StringArray("permission", nil, "glob over permissions; may be repeated")
	f.Bool("deny", false, "deny what the policy grants")
	f.Int32("priority", 0, "order of evaluation and explanation, highest first")
	f.String("description", "", "what the policy is for")
}

// change sets what flags set, and returns the names of the fields.
func change(c *command.Call, p *policyv1.AccessPolicy) (*fieldmaskpb.FieldMask, error) {
	changed, err := c.Changed(p,
		"tool=tools", "tool-group=tool_groups", "permission=permissions", "description", "expression", "disabled", "priority")
	if err != nil {
		return nil, err
	}
	if !c.Cmd.Flag("match").Changed {
		return changed, nil
	}
	matches, _ := c.Cmd.Flags().GetStringArray("match") // the flag exists
	if len(matches) == 0 {
		matches = []string{""} // as it is given, which is not the same as none
	}
	all, err := matchers(matches)
	if err != nil {
		return nil, err
	}
	changed.Paths = append(changed.Paths, "matchers")
	return changed, client.Set(p, "matchers", all)
}

// matcher is a condition as it is written.
type matcher struct {
	Path     string   `json:"path"`
	Operator string   `json:"operator"`
	Values   []string `json:"values"`
}

// matchers parses conditions such as "department equals finance,sales". Patterns of matches may contain commas, so there is only one.
func matchers(texts []string) ([]matcher, error) {
	out := make([]matcher, len(texts))
	for i, text := range texts {
		path, rest, ok := strings.Cut(strings.TrimSpace(text), " ")
		operator, value, more := strings.Cut(strings.TrimSpace(rest), " ")
		if !ok || !more {
			return nil, app.Usage("--match %q: want 'PATH OPERATOR VALUE', for example 'department equals finance'", text)
		}
		values := []string{strings.TrimSpace(value)}
		if operator != "matches" {
			values = strings.Split(values[0], ",")
		}
		out[i] = matcher{path, operator, values}
	}
	return out, nil
}

func create(c *command.Call) error {
	p := &policyv1.AccessPolicy{Name: c.Args[0], Effect: policyv1.AccessEffect_ACCESS_EFFECT_ALLOW}
	if c.Bool("deny") {
		p.Effect = policyv1.AccessEffect_ACCESS_EFFECT_DENY
	}
	if _, err := change(c, p); err != nil {
		return err
	}
	return send(c, &policyv1.CreateAccessPolicyRequest{AccessPolicy: p}, "created")
}

func update(c *command.Call) error {
	p := &policyv1.AccessPolicy{Name: c.Args[0]}
	changed, err := change(c, p)
	if err != nil {
		return err
	}
	switch deny, allow := c.Bool("deny"), c.Bool("allow"); {
	case deny && allow:
		return app.Usage("--allow and --deny exclude each other")
	case deny:
		p.Effect, changed.Paths = policyv1.AccessEffect_ACCESS_EFFECT_DENY, append(changed.Paths, "effect")
	case allow:
		p.Effect, changed.Paths = policyv1.AccessEffect_ACCESS_EFFECT_ALLOW, append(changed.Paths, "effect")
	}
	if len(changed.GetPaths()) == 0 {
		return app.Usage("say what to change, for example --tool 'orders__search'")
	}
	return send(c, &policyv1.UpdateAccessPolicyRequest{AccessPolicy: p, UpdateMask: changed}, "updated")
}

func send(c *command.Call, req proto.Message, done string) error {
	var p policyv1.AccessPolicy
	raw, err := c.Do(req, &p)
	if err != nil {
		return err
	}
	return c.Printf(p.GetName(), raw, "policy %s %s, revision %d; it applies to the next call",
		output.Line(p.GetName()), done, p.GetRevision())
}

// grants summarizes what a policy grants.
func grants(p *policyv1.AccessPolicy) string {
	words := append([]string(nil), p.GetTools()...)
	for _, g := range p.GetToolGroups() {
		words = append(words, "group:"+g)
	}
	return strings.Join(append(words, p.GetPermissions()...), ",")
}

// conditions summarizes whom a policy matches.
func conditions(p *policyv1.AccessPolicy) string {
	var words []string
	for _, m := range p.GetMatchers() {
		words = append(words, fmt.Sprintf("%s %s %s", m.GetPath(), enum.Name(m.GetOperator()), strings.Join(m.GetValues(), "|")))
	}
	if p.GetExpression() != "" {
		words = append(words, p.GetExpression())
	}
	return strings.Join(words, " && ")
}
