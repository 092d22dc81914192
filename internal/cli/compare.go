package cli

import (
	"io"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/client"
	"github.com/windlass-dev/windlass/internal/cli/show"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

func compareCommand(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "compare TURN TURN", Short: "Show two turns side by side: what they used, their tool calls, how their answers differ",
		Args: cobra.ExactArgs(2), RunE: run(a, compareTurns),
	}
}

func compareTurns(c *call) error {
	var got sessionsv1.TurnComparison
	raw, err := c.client.Do(c.ctx, client.Request{
		Method: http.MethodGet, Path: "/v1/turns" + client.Path(c.args[0]) + ":compare", Query: url.Values{"with": {c.args[1]}},
	}, &got)
	if err != nil {
		return err
	}
	return c.print(got.GetB().GetTurnId(), raw, func(w io.Writer) error { return show.Comparison(w, &got) })
}
