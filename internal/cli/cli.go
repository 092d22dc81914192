// Package cli is the windlass command, a client of a running mesh over REST and event streams.
package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/agent"
	"github.com/windlass-dev/windlass/internal/cli/analytics"
	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/apply"
	"github.com/windlass-dev/windlass/internal/cli/approval"
	"github.com/windlass-dev/windlass/internal/cli/artifact"
	"github.com/windlass-dev/windlass/internal/cli/audit"
	"github.com/windlass-dev/windlass/internal/cli/bank"
	"github.com/windlass-dev/windlass/internal/cli/budget"
	"github.com/windlass-dev/windlass/internal/cli/cache"
	"github.com/windlass-dev/windlass/internal/cli/chat"
	"github.com/windlass-dev/windlass/internal/cli/command"
	"github.com/windlass-dev/windlass/internal/cli/connection"
	"github.com/windlass-dev/windlass/internal/cli/decide"
	"github.com/windlass-dev/windlass/internal/cli/decision"
	"github.com/windlass-dev/windlass/internal/cli/doctor"
	"github.com/windlass-dev/windlass/internal/cli/event"
	"github.com/windlass-dev/windlass/internal/cli/execution"
	"github.com/windlass-dev/windlass/internal/cli/file"
	"github.com/windlass-dev/windlass/internal/cli/grant"
	"github.com/windlass-dev/windlass/internal/cli/group"
	"github.com/windlass-dev/windlass/internal/cli/initproject"
	"github.com/windlass-dev/windlass/internal/cli/knowledge"
	"github.com/windlass-dev/windlass/internal/cli/login"
	"github.com/windlass-dev/windlass/internal/cli/mcp"
	"github.com/windlass-dev/windlass/internal/cli/memory"
	"github.com/windlass-dev/windlass/internal/cli/model"
	"github.com/windlass-dev/windlass/internal/cli/policy"
	"github.com/windlass-dev/windlass/internal/cli/quota"
	"github.com/windlass-dev/windlass/internal/cli/route"
	"github.com/windlass-dev/windlass/internal/cli/schedule"
	"github.com/windlass-dev/windlass/internal/cli/secret"
	"github.com/windlass-dev/windlass/internal/cli/session"
	"github.com/windlass-dev/windlass/internal/cli/source"
	"github.com/windlass-dev/windlass/internal/cli/support"
	"github.com/windlass-dev/windlass/internal/cli/tool"
	"github.com/windlass-dev/windlass/internal/cli/top"
	"github.com/windlass-dev/windlass/internal/cli/turn"
	"github.com/windlass-dev/windlass/internal/cli/usage"
	"github.com/windlass-dev/windlass/internal/cli/user"
	"github.com/windlass-dev/windlass/internal/cli/version"
	"github.com/windlass-dev/windlass/internal/cli/webhook"
)

// nouns are the kinds of resources that have the commands of package command.
func nouns() []command.Noun {
	return []command.Noun{
		agent.Noun(), session.Noun(), turn.Noun(), approval.Noun(), tool.Noun(), group.Noun(), source.Noun(), model.Noun(), decision.Noun(),
		execution.Noun(), budget.Noun(), file.Noun(), bank.Noun(), webhook.Noun(), schedule.Noun(), policy.Noun(), route.Noun(), event.Noun(),
	}
}

// New returns the windlass command with its own commands and the given ones.
func New(a *app.App, more ...*cobra.Command) *cobra.Command {
	r := command.New(a, nouns()...)
	root := &cobra.Command{
		Use:   "windlass",
		Short: "Run agents whose turns survive anything",
		Long: `Run agents whose turns survive anything.

'windlass up' runs all of Windlass on this machine; the other commands speak to it, or to the server that --server names.

An id may be shortened to a beginning that only one resource has. @last is the session, turn or approval that was made or
shown last from here.

Exit codes: 0 ok, 1 error, 2 wrong usage, 3 not found, 4 denied, 5 the turn failed, 6 the turn waits for a person.`,
		Args:    cobra.ArbitraryArgs,
		RunE:    usage.GroupRun,
		Version: a.Build().Version,
	}
	root.SetVersionTemplate("windlass {{.Version}}\n")
	add := func(id, title string, cs ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: id, Title: title})
		for _, c := range cs {
			c.GroupID = id
			root.AddCommand(c)
		}
	}
	add("run", "Run:", slices.Concat(more, login.Commands(a, r.ServerOf), []*cobra.Command{
		doctor.Command(r), top.Command(r), version.Command(r), support.Command(r), initproject.Command(a), mcp.Command(r), user.Command(a),
	})...)
	add("talk", "Talk:", append(chat.Commands(r), decide.Command(r), apply.Command(r))...)
	add("nouns", "Look and change:", append(r.Nouns(), r.Get(), r.List(), artifact.Command(r), secret.Command(r), connection.Command(r),
		grant.Command(r), audit.Command(r), quota.Command(r), cache.Command(r), analytics.Command(r), analytics.Usage(r),
		policy.Access(r), knowledge.Command(r), memory.Command(r))...)
	r.Finish(root)
	return root
}
