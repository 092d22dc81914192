package usage_test

import (
	"errors"
	"testing"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
	"github.com/windlass-dev/windlass/internal/cli/clitest"
	"github.com/windlass-dev/windlass/internal/cli/usage"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testwant"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

func TestArgumentsAreReadFromTheUse(t *testing.T) {
	id := usage.Argument{Name: "ID"}
	for use, want := range map[string][]usage.Argument{
		"get ID":                           {id},
		"list":                             nil,
		"delete ID…":                       {{Name: "ID", Many: true}},
		"send TURN [TEXT]":                 {{Name: "TURN"}, {Name: "TEXT", Optional: true}},
		"send TURN [TEXT…]":                {{Name: "TURN"}, {Name: "TEXT", Optional: true, Many: true}},
		"set ID --limit N":                 {id},
		"replay [FILE | --without NAME]":   {{Name: "FILE", Optional: true}},
		"create NAME [--select PATTERN]…":  {{Name: "NAME"}},
		"create ID {--every TIME} COMMAND": {id, {Name: "COMMAND"}},
		"ID":                               nil, // the command's own name
		"get Id":                           nil,
	} {
		testwant.Equal(t, use, usage.Arguments(&cobra.Command{Use: use}), want)
	}
}

// root is a command line with one group of two commands.
func root(*app.App) *cobra.Command {
	run := func(*cobra.Command, []string) error { return nil }
	get := &cobra.Command{Use: "get ID [PART]", Args: cobra.RangeArgs(1, 2), RunE: run}
	get.Flags().Int("limit", 0, "")
	get.Flags().Uint32("skip", 0, "")
	get.Flags().Float64("rate", 0, "")
	get.Flags().Duration("since", 0, "")
	get.Flags().BoolP("watch", "w", false, "")
	get.Flags().StringToString("label", nil, "")
	get.Flags().IP("address", nil, "")
	get.Flags().Bool("secret-flag", false, "")
	if err := get.Flags().MarkHidden("secret-flag"); err != nil {
		panic(err)
	}
	odd := &cobra.Command{Use: "odd", RunE: run, Args: func(_ *cobra.Command, args []string) error {
		if len(args) == 1 {
			return app.Usage("one is odd")
		}
		return cobra.ExactArgs(0)(nil, nil)
	}}
	even := &cobra.Command{Use: "even A B", RunE: run, Args: cobra.MatchAll(cobra.ExactArgs(2), func(*cobra.Command, []string) error {
		return errors.New("they differ")
	})}
	hidden := &cobra.Command{Use: "gett", RunE: run, Hidden: true}
	top := &cobra.Command{Use: "windlass", Args: cobra.ArbitraryArgs, RunE: usage.GroupRun}
	top.AddCommand(usage.Group("thing", "Things", []string{"things"}, get, odd, even, hidden))
	top.SetFlagErrorFunc(usage.WrongFlag)
	usage.Refine(top)
	return top
}

func TestWhatIsWrongIsSaidInOurWords(t *testing.T) {
	clitest.Run(t, root, nil, []clitest.Case{
		{Args: "thing get x"},
		{Args: "things get x part"},
		{Args: "thing get", Code: 2, Err: []string{"error: ID is missing: windlass thing get ID [PART]\nSee 'windlass thing get --help'."}},
		{Args: "thing get a b c", Code: 2, Err: []string{`"c" is too much: windlass thing get ID [PART]`}},
		{Args: "thing odd x", Code: 2, Err: []string{"error: one is odd\n"}},
		{Args: "thing even a b", Code: 2, Err: []string{"these arguments do not fit: windlass thing even A B"}},
		{Args: "thing gte", Code: 2, Err: []string{`windlass thing has no command "gte"; did you mean get?`}},
		{Args: "thing zzz", Code: 2, Err: []string{`windlass thing has no command "zzz"` + "\n"}},
		{Args: "thing create", Code: 2, Err: []string{`has no command "create"; use 'windlass apply FILE'`}},
		{Args: "describe x", Code: 2, Err: []string{`windlass has no command "describe"; use 'windlass get'`}},
		{Args: "thing ps", Code: 2, Err: []string{`windlass thing has no command "ps"` + "\n"}}, // only the root has other programs' words
		{Args: "thing get x --limit many", Code: 2, Err: []string{"--limit many: want a whole number\n"}},
		{Args: "thing get x --skip -1", Code: 2, Err: []string{"--skip -1: want a whole number, 0 or more\n"}},
		{Args: "thing get x --rate much", Code: 2, Err: []string{"--rate much: want a number\n"}},
		{Args: "thing get x --since 5", Code: 2, Err: []string{"--since 5: want a duration such as 90s, 5m or 24h\n"}},
		{Args: "thing get x --watch=maybe", Code: 2, Err: []string{"--watch maybe: want true or false\n"}},
		{Args: "thing get x -w=maybe", Code: 2, Err: []string{"--watch maybe: want true or false\n"}},
		{Args: "thing get x --label a", Code: 2, Err: []string{"--label a: want key=value\n"}},
		{Args: "thing get x --address home", Code: 2, Err: []string{"--address home: failed to parse IP"}},
		{Args: "thing get x --limt 5", Code: 2, Err: []string{"unknown flag --limt; did you mean --limit?\n"}},
		{Args: "thing get x --secret-flg", Code: 2, Err: []string{"unknown flag --secret-flg\n"}}, // what is hidden is not proposed
		{Args: "thing get x -z", Code: 2, Err: []string{"unknown flag 'z' in -z\n"}},
		{Args: "thing get x --limit", Code: 2, Err: []string{"error: flag needs an argument: --limit\n"}},
	})
}

func TestAGroupAloneShowsItsHelp(t *testing.T) {
	for _, args := range [][]string{{}, {"thing"}} {
		r := clitest.New(t, root, nil).Run("", args...)
		testwant.Equal(t, "the exit code", r.Code, 0)
		if r.Out == "" || r.Err != "" {
			t.Errorf("%q prints %q and %q", args, r.Out, r.Err)
		}
	}
}
