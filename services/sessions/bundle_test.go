package sessions_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// clockBundle is an agent that does not exist before, a schedule of it, and a webhook.
const clockBundle = `kind: schedule
id: morning
agent_id: reporter
input: What is new?
cron: 30 9 * * 1-5
time_zone: Europe/Berlin
params: {topic: news}
---
kind: agent
id: reporter
params_schema: {type: object, required: [topic], properties: {topic: {type: string}}}
---
kind: webhook
id: pager
url: https://example.com/hooks
events: [turn.failed]
agent_id: reporter
`

func TestSchedulesAndWebhooksAreApplied(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		o := hooked()
		o.postgres = postgres
		k := newKit(t, o)
		schedule := func() *sessionsv1.Schedule {
			v, err := k.schedules().GetSchedule(t.Context(), &sessionsv1.GetScheduleRequest{ScheduleId: "morning"})
			must(t, err)
			return v
		}
		webhook := func() *sessionsv1.Webhook {
			w, err := k.webhooks().GetWebhook(t.Context(), &sessionsv1.GetWebhookRequest{WebhookId: "pager"})
			must(t, err)
			return w
		}
		first := "schedule morning created 1|agent reporter created 1|webhook pager created 0|"
		secret := ""
		for _, row := range []struct {
			name, yaml string
			dry        bool
			want       string
		}{
			{"dry run", clockBundle, true, first},
			{"first", clockBundle, false, first},
			{"again", clockBundle, false, strings.ReplaceAll(strings.ReplaceAll(first, "created", "unchanged"), "pager unchanged 1",
				"pager unchanged 0")},
			{
				"changed, dry", strings.NewReplacer("9 * *", "10 * *", "/hooks", "/calls").Replace(clockBundle), true,
				"schedule morning updated 2|agent reporter unchanged 1|webhook pager updated 0|",
			},
			{
				"changed", strings.NewReplacer("9 * *", "10 * *", "/hooks", "/calls").Replace(clockBundle), false,
				"schedule morning updated 2|agent reporter unchanged 1|webhook pager updated 0|",
			},
		} {
			got, err := k.agents.ApplyBundle(t.Context(), &sessionsv1.ApplyBundleRequest{Yaml: row.yaml, DryRun: row.dry})
			must(t, err)
			out := ""
			for _, a := range got.GetApplied() {
				out += fmt.Sprintf("%s %s %s %d|", a.GetKind(), a.GetId(), enum.Name(a.GetAction()), a.GetRevision())
				if shown := a.GetSecret(); (shown != "") != (row.name == "first" && a.GetKind() == "webhook") {
					t.Errorf("%s: %s shows a secret: %v", row.name, a.GetKind(), shown != "")
				} else if shown != "" {
					secret = shown
				}
			}
			if out != row.want {
				t.Errorf("%s: %s, want %s", row.name, out, row.want)
			}
		}
		if v, w := schedule(), webhook(); v.GetCron() != "30 10 * * 1-5" || v.GetRevision() != 2 || w.GetUrl() != "https://example.com/calls" ||
			w.GetSecret() != "" || !strings.HasPrefix(secret, "whsec_") {
			t.Errorf("schedule %v, webhook %v", v, w)
		}

		// A pause and a disabled address stay, unless the document speaks of them; what it does not name otherwise is cleared.
		_, err := k.schedules().PauseSchedule(t.Context(), &sessionsv1.PauseScheduleRequest{ScheduleId: "morning"})
		must(t, err)
		_, err = k.webhooks().UpdateWebhook(t.Context(),
			&sessionsv1.UpdateWebhookRequest{Webhook: &sessionsv1.Webhook{Id: "pager", Disabled: true, Description: "by hand"}})
		must(t, err)
		_, err = k.apply(clockBundle, false)
		must(t, err)
		if v, w := schedule(), webhook(); !v.GetPaused() || !w.GetDisabled() || w.GetDescription() != "" {
			t.Errorf("schedule %v, webhook %v", v, w)
		}
		_, err = k.apply(strings.NewReplacer("id: morning", "id: morning\npaused: false", "id: pager",
			"id: pager\ndisabled: false").Replace(clockBundle), false)
		must(t, err)
		if v, w := schedule(), webhook(); v.GetPaused() || w.GetDisabled() {
			t.Errorf("schedule %v, webhook %v", v, w)
		}
	})
}

func TestWhatIsWrongWithSchedulesAndWebhooksInABundle(t *testing.T) {
	o := hooked()
	o.cfg.Schedules.MaxSchedules, o.cfg.Schedules.MaxPerUser, o.cfg.Webhooks.MaxWebhooks = 2, 1, 1
	k := newKit(t, o)
	_, err := k.apply(clockBundle, false)
	must(t, err)
	const schedule, webhook = "kind: schedule\nid: s\nagent_id: reporter\ninput: x\nparams: {topic: t}\n", "kind: webhook\nid: w\n"
	for name, row := range map[string]struct{ yaml, code, field string }{
		"no time":      {schedule, "invalid_argument", "document 1 (schedule s), line 1: cron"},
		"a wrong time": {schedule + "cron: 61 * * * *", "invalid_argument", "document 1 (schedule s), line 6: cron"},
		"no id": {
			"kind: schedule\nagent_id: reporter\ninput: x\ninterval: 1h", "invalid_argument",
			"document 1 (schedule), line 1: id",
		},
		"no agent": {
			"kind: schedule\nid: s\ninput: x\ninterval: 1h", "invalid_argument",
			"document 1 (schedule s), line 1: agent_id",
		},
		"an agent nobody made": {
			"kind: schedule\nid: s\nagent_id: nobody\ninput: x\ninterval: 1h", "invalid_argument",
			"document 1 (schedule s), line 3: agent_id",
		},
		"params that miss one": {
			"kind: schedule\nid: s\nagent_id: reporter\ninput: x\ninterval: 1h\nparams: {topic: 3}", "invalid_argument",
			"document 1 (schedule s), line 6: params.topic",
		},
		"a wrong overlap":       {schedule + "interval: 1h\noverlap: often", "invalid_argument", "document 1 (schedule s), line 7: overlap"},
		"one schedule too many": {schedule + "interval: 1h", "limit_reached", ""},
		"no url":                {webhook, "invalid_argument", "document 1 (webhook w), line 1: url"},
		"a url with a password": {webhook + "url: https://a:b@example.com/", "invalid_argument", "document 1 (webhook w), line 3: url"},
		"an unknown event": {
			webhook + "url: https://example.com/\nevents: [turn.won]", "invalid_argument",
			"document 1 (webhook w), line 4: events[0]",
		},
		"another kind of hook": {"kind: webhook\nid: pager\nper_turn: true", "invalid_argument", "document 1 (webhook pager), line 3: per_turn"},
		"one webhook too many": {webhook + "url: https://example.com/", "limit_reached", ""},
	} {
		for _, dry := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, dry run %v", name, dry), func(t *testing.T) {
				_, err := k.apply("kind: source\nname: extra\nurl: http://127.0.0.1:1/\n---\n"+row.yaml, dry)
				place := strings.NewReplacer("document 1", "document 2").Replace(row.field)
				if fields := fault.From(err).Fields; fault.CodeOf(err) != row.code || row.field == "" && !strings.Contains(err.Error(), "document 2") {
					t.Fatalf("%v, want %s", err, row.code)
				} else if row.field != "" && (len(fields) != 1 || lineless(fields[0].Path) != lineless(place)) {
					t.Errorf("fields %v, want %s", fields, place)
				}
			})
		}
	}
	if len(k.sources.byName) != 0 {
		t.Errorf("a bundle with a mistake made %v", k.sources.byName)
	}
}

// What is too much only together with the rest of the bundle is found before anything is written, also by a dry run.
func TestABundleThatIsTooMuchInItself(t *testing.T) {
	const source, hook = "kind: source\nname: extra\nurl: http://127.0.0.1:1/\n---\nkind: agent\nid: helper\n",
		"---\nkind: webhook\nid: %s\n%s\n"
	const schedule = "---\nkind: schedule\nid: %s\nagent_id: helper\ninput: x\ninterval: 1h\n"
	for name, row := range map[string]struct{ yaml, code string }{
		"two for each turn":       {fmt.Sprintf(hook+hook, "a", "per_turn: true", "b", "per_turn: true"), "already_exists"},
		"a webhook too many":      {fmt.Sprintf(hook+hook, "a", "url: https://example.com/", "b", "url: https://example.com/"), "limit_reached"},
		"a schedule too many":     {fmt.Sprintf(schedule+schedule, "a", "b"), "limit_reached"},
		"as much as there may be": {fmt.Sprintf(hook+schedule, "a", "per_turn: true", "a"), ""},
	} {
		for _, dry := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, dry run %v", name, dry), func(t *testing.T) {
				o := hooked()
				o.cfg.Schedules.MaxSchedules, o.cfg.Webhooks.MaxWebhooks = 1, 2
				if name == "a webhook too many" {
					o.cfg.Webhooks.MaxWebhooks = 1
				}
				k := newKit(t, o)
				got, err := k.agents.ApplyBundle(t.Context(), &sessionsv1.ApplyBundleRequest{Yaml: source + row.yaml, DryRun: dry})
				if fault.CodeOf(err) != row.code && (err != nil || row.code != "") {
					t.Fatalf("%v, want %q", err, row.code)
				}
				if made := len(k.sources.byName); (made == 1) != (row.code == "" && !dry) {
					t.Errorf("%d sources were made", made)
				}
				for _, a := range got.GetApplied() {
					if dry && a.GetSecret() != "" {
						t.Error("a dry run shows a secret")
					}
				}
				if hooks, err := k.webhooks().ListWebhooks(t.Context(), &sessionsv1.ListWebhooksRequest{}); err != nil ||
					dry && len(hooks.GetWebhooks()) > 0 {
					t.Errorf("%v, %v", hooks, err)
				}
			})
		}
	}
}

// lineless takes the number of the line away, which others test.
func lineless(place string) string {
	before, after, _ := strings.Cut(place, ", line ")
	_, field, _ := strings.Cut(after, ":")
	return before + field
}

func TestABundleNeedsThePermissionsOfWhatIsInIt(t *testing.T) {
	k := newKit(t, hooked())
	k.policy.denied = []string{"sessions.webhooks.create"}
	_, err := k.apply(clockBundle, false)
	wantFault(t, err, "permission_denied")
	if _, err := k.agents.GetAgent(t.Context(), &sessionsv1.GetAgentRequest{AgentId: "reporter"}); err == nil {
		t.Error("the agent was made all the same")
	}
	k.policy.denied = nil
	_, err = k.apply(clockBundle, false)
	must(t, err)
	other := rpctest.ServeAs(t, "sessions", k.svc.Register,
		rpctest.WithPrincipal(&policyv1.Principal{Tenant: "default", Subject: "eve", Kind: policyv1.PrincipalKind_PRINCIPAL_KIND_USER}))
	_, err = sessionsv1.NewAgentServiceClient(other).ApplyBundle(t.Context(), &sessionsv1.ApplyBundleRequest{Yaml: clockBundle})
	wantFault(t, err, "already_exists")
}
