package access_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"

	"github.com/windlass-dev/windlass/libs/authn"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/policy/access"
	"github.com/windlass-dev/windlass/services/policy/store"
)

func user(t testing.TB, claims string) *policyv1.Principal {
	t.Helper()
	p := authn.User("https://issuer.test:alice", "analyst", "user")
	p.Claims = &structpb.Struct{}
	if err := p.GetClaims().UnmarshalJSON([]byte(claims)); err != nil {
		t.Fatal(err)
	}
	return p
}

func input(t testing.TB, p *policyv1.Principal) access.Input {
	t.Helper()
	in, err := access.NewInput(p)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func set(t testing.TB, policies ...store.Policy) *access.Set {
	t.Helper()
	for i := range policies {
		policies[i].PolicyRevision = uint64(i + 1)
	}
	s, err := access.NewSet(store.Snapshot{Revision: uint64(len(policies)), Policies: policies}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func allow(name string, spec store.Spec) store.Policy {
	spec.Effect = store.Allow
	return store.Policy{Name: name, Spec: spec}
}

func deny(name string, spec store.Spec) store.Policy {
	spec.Effect = store.Deny
	return store.Policy{Name: name, Spec: spec}
}

const aliceClaims = `{"department":"finance","level":3,"ratio":0.5,"admin":true,"nothing":null,"empty":"",
	"groups":["ops","eu",7,true],"realm_access":{"roles":["read","write"]},"https://example.com/team":"core",
	"a\\b":"slash","$odd":"dollar","text":"line one\nline two","nested":{"x":{"y":"deep"}},"iat":1}`

// TestOperators evaluates one matcher for one set of claims.
func TestOperators(t *testing.T) {
	for _, row := range []struct {
		path     string
		operator store.Operator
		values   string // separated by |
		want     bool
	}{
		{"department", store.Equals, "finance", true},
		{"department", store.Equals, "sales|finance", true},
		{"department", store.Equals, "Finance", false},
		{"department", store.Equals, "fin", false},
		{"level", store.Equals, "3", true},
		{"level", store.Equals, "3.0", false},
		{"ratio", store.Equals, "0.5", true},
		{"admin", store.Equals, "true", true},
		{"empty", store.Equals, "", true},
		{"groups", store.Equals, "ops", false}, // a list equals nothing
		{"nested", store.Equals, "", false},
		{"$subject", store.Equals, "https://issuer.test:alice", true},
		{"nested.x.y", store.Equals, "deep", true},
		{"nested.x.z", store.Equals, "deep", false},
		{"department.x", store.Equals, "finance", false}, // a text has no names
		{"groups.ops", store.Equals, "ops", false},
		{`https://example\.com/team`, store.Equals, "core", true},
		{"https://example.com/team", store.Equals, "core", false},
		{`a\\b`, store.Equals, "slash", true},
		{`\$odd`, store.Equals, "dollar", true},

		{"department", store.NotEquals, "sales", true},
		{"department", store.NotEquals, "sales|finance", false},
		{"level", store.NotEquals, "4", true},
		{"groups", store.NotEquals, "x", false}, // nor does it differ
		{"missing", store.Equals, "", false},
		{"missing", store.NotEquals, "x", false},
		{"missing", store.Contains, "x", false},
		{"missing", store.NotContains, "x", false},
		{"missing", store.Matches, ".*", false},
		{"nothing", store.NotEquals, "x", false},
		{"nothing", store.NotContains, "x", false},
		{"nothing", store.Matches, ".*", false},

		{"groups", store.Contains, "ops", true},
		{"groups", store.Contains, "op", false},
		{"groups", store.Contains, "7", true},
		{"groups", store.Contains, "true", true},
		{"groups", store.Contains, "x|eu", true},
		{"realm_access.roles", store.Contains, "write", true},
		{"department", store.Contains, "nan", true},
		{"department", store.Contains, "sales", false},
		{"level", store.Contains, "3", false}, // neither a list nor a text
		{"nested", store.Contains, "x", false},
		{"$roles", store.Contains, "analyst", true},
		{"$roles", store.Contains, "anal", false},
		{"groups", store.NotContains, "us", true},
		{"groups", store.NotContains, "us|eu", false},
		{"department", store.NotContains, "sales", true},
		{"department", store.NotContains, "fin", false},
		{"level", store.NotContains, "x", false},
		{"$roles", store.NotContains, "admin", true},

		{"department", store.Matches, "fin.*", true},
		{"department", store.Matches, "fin", false}, // as a whole
		{"department", store.Matches, "sales|fin", false},
		{"department", store.Matches, "x(|y)", false},
		{"department", store.Matches, "(?i)FINANCE", true},
		{"level", store.Matches, "[0-9]", true},
		{"text", store.Matches, "line.*two", true},
		{"text", store.Matches, "line one", false},
		{"groups", store.Matches, ".*", false},
	} {
		t.Run(fmt.Sprintf("%s %d %s", row.path, row.operator, row.values), func(t *testing.T) {
			values := strings.Split(row.values, "|")
			if row.operator == store.Matches {
				values = []string{row.values}
			}
			s := set(t, allow("p", store.Spec{
				Matchers: []store.Matcher{{Path: row.path, Operator: row.operator, Values: values}}, Tools: []string{"*"},
			}))
			if got := s.For(input(t, user(t, aliceClaims))).Tool("a__b", "alice", nil); got.Allowed != row.want {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestMatchersOfAPolicyMustAllMatch(t *testing.T) {
	department := store.Matcher{Path: "department", Operator: store.Equals, Values: []string{"finance"}}
	level := store.Matcher{Path: "level", Operator: store.Equals, Values: []string{"9"}}
	for _, row := range []struct {
		name string
		set  *access.Set
		want bool
	}{
		{"one of two", set(t, allow("p", store.Spec{Matchers: []store.Matcher{department, level}, Tools: []string{"*"}})), false},
		{"one of two policies", set(t,
			allow("p", store.Spec{Matchers: []store.Matcher{department}, Tools: []string{"*"}}),
			allow("q", store.Spec{Matchers: []store.Matcher{level}, Tools: []string{"*"}})), true},
		{
			"a disabled policy", set(t, allow("p", store.Spec{Disabled: true, Matchers: []store.Matcher{department}, Tools: []string{"*"}})), false,
		},
		{"no policies", set(t), false},
		{"a matcher, and an expression that is false", set(t, allow("p", store.Spec{
			Matchers: []store.Matcher{department}, Expression: "principal.claims.level > 3", Tools: []string{"*"},
		})), false},
		{"a matcher and an expression", set(t, allow("p", store.Spec{
			Matchers: []store.Matcher{department}, Expression: "principal.claims.level >= 3 && 'analyst' in principal.roles", Tools: []string{"*"},
		})), true},
		{"deny wins", set(t,
			allow("p", store.Spec{Priority: 9, Matchers: []store.Matcher{department}, Tools: []string{"*"}}),
			deny("q", store.Spec{Matchers: []store.Matcher{department}, Tools: []string{"a__*"}})), false},
	} {
		if got := row.set.For(input(t, user(t, aliceClaims))).Tool("a__b", "alice", nil); got.Allowed != row.want {
			t.Errorf("%s: %+v", row.name, got)
		}
	}
}

// TestServicesMatchNoPolicy: roles of the mesh have rules of their own.
func TestServicesMatchNoPolicy(t *testing.T) {
	s := set(t, allow("p", store.Spec{Expression: "true", Tools: []string{"*"}, Permissions: []string{"*"}}))
	if v := s.For(input(t, authn.Service("worker"))).Permission("policy.tools.decide", "worker"); v.Allowed {
		t.Errorf("%+v", v)
	}
	if v := s.For(input(t, &policyv1.Principal{Subject: "x"})).Tool("a__b", "x", nil); v.Allowed {
		t.Errorf("no kind: %+v", v)
	}
}

func TestExpressionsThatFail(t *testing.T) {
	loop := "principal.claims.groups.all(a, " + strings.Repeat("principal.claims.groups.all(b, ", 5) + "a != 'x'" + strings.Repeat(")", 6)
	many := `{"groups":[` + strings.Repeat(`"g",`, 19) + `"g"]}` // 20^6 steps
	for _, row := range []struct {
		name, expression, claims  string
		allowMatches, denyMatches bool
	}{
		{"true", "principal.claims.level == 3", aliceClaims, true, true},
		{"a missing claim", "principal.claims.other == 3", aliceClaims, false, false},
		{"the negation of a missing claim", "!(principal.claims.other == 3)", aliceClaims, false, false},
		{"a claim of another type", "principal.claims.department > 3", aliceClaims, false, false},
		{"no boolean", "principal.claims.department", aliceClaims, false, false},
		{"has", "!has(principal.claims.other)", aliceClaims, true, true},
		{"a claim of the token", "has(principal.claims.iat)", aliceClaims, false, false},
		{"too much work counts against the principal", loop, many, false, true},
	} {
		in := input(t, user(t, row.claims))
		spec := store.Spec{Expression: row.expression, Tools: []string{"*"}}
		if v := set(t, allow("p", spec)).For(in).Tool("a__b", "alice", nil); v.Allowed != row.allowMatches {
			t.Errorf("%s: %+v", row.name, v)
		}
		if v := set(t, deny("p", spec)).For(in).Tool("a__b", "alice", nil); v.Denied != row.denyMatches {
			t.Errorf("%s, denying: %+v", row.name, v)
		}
	}
}

func TestCompileNamesTheField(t *testing.T) {
	good := store.Matcher{Path: "department", Operator: store.Equals, Values: []string{"finance"}}
	matcher := func(path string, op store.Operator, values ...string) store.Spec {
		return store.Spec{Effect: store.Allow, Tools: []string{"*"}, Matchers: []store.Matcher{good, {Path: path, Operator: op, Values: values}}}
	}
	spec := func(change func(*store.Spec)) store.Spec {
		s := store.Spec{Effect: store.Allow, Tools: []string{"*"}, Matchers: []store.Matcher{good}}
		change(&s)
		return s
	}
	if _, faults := access.Compile("p", spec(func(*store.Spec) {})); len(faults) > 0 {
		t.Fatal(faults)
	}
	for _, row := range []struct {
		name, field, says string
		spec              store.Spec
	}{
		{"an empty name", "matchers[1].path", "a name is empty", matcher("a..b", store.Equals, "x")},
		{"a dot at the end", "matchers[1].path", "a name is empty", matcher("a.", store.Equals, "x")},
		{"a backslash alone", "matchers[1].path", "backslash", matcher(`a\n`, store.Equals, "x")},
		{"a backslash at the end", "matchers[1].path", "backslash", matcher(`a\`, store.Equals, "x")},
		{"an unknown special path", "matchers[1].path", "$subject and $roles", matcher("$tenant", store.Equals, "x")},
		{"a claim of the token", "matchers[1].path", "differs in each token", matcher("jti", store.Equals, "x")},
		{"too deep", "matchers[1].path", "16 is the most", matcher(strings.Repeat("a.", 16)+"a", store.Equals, "x")},
		{"no values", "matchers[1].values", "at least one", matcher("a", store.Equals)},
		{"no operator", "matchers[1].operator", "use equals", matcher("a", 0, "x")},
		{"an empty text is in every text", "matchers[1].values[1]", "is empty", matcher("a", store.NotContains, "x", "")},
		{"no regular expression", "matchers[1].values[0]", "RE2", matcher("a", store.Matches, "(")},
		{"one that breaks out", "matchers[1].values[0]", "RE2", matcher("a", store.Matches, ")|(")},
		{"a lookahead", "matchers[1].values[0]", "RE2", matcher("a", store.Matches, "(?=x)")},
		{"a huge repetition", "matchers[1].values[0]", "RE2", matcher("a", store.Matches, "((a{1000}){1000}){1000}")},
		{"a large class, repeated", "matchers[1].values[0]", "too large when", matcher("a", store.Matches, `(\pL{1,1000})N`)},
		{
			"many that are large together", "matchers[1].values[10]", "too large when",
			matcher("a", store.Matches, slices.Repeat([]string{"a{1,1000}"}, 64)...),
		},
		{
			"CEL with such a pattern", "expression", "too large when",
			spec(func(s *store.Spec) { s.Expression = `principal.subject.matches("(\\pL{1,1000})N")` }),
		},
		{"roles are a list", "matchers[1].operator", "use contains", matcher("$roles", store.Equals, "x")},
		{"CEL that does not parse", "expression", "line 1", spec(func(s *store.Spec) { s.Expression = "principal." })},
		{"CEL of another type", "expression", "want true or false", spec(func(s *store.Spec) { s.Expression = "principal.subject" })},
		{
			"CEL with a field that is not there", "expression", "undefined field",
			spec(func(s *store.Spec) { s.Expression = "principal.sub == 'x'" }),
		},
		{"CEL over the tool", "expression", "undeclared", spec(func(s *store.Spec) { s.Expression = "tool == 'x'" })},
		{"nobody is matched", "matchers", "$subject", spec(func(s *store.Spec) { s.Matchers = nil })},
		{"nothing is granted", "tools", "grants nothing", spec(func(s *store.Spec) { s.Tools = nil })},
		{"a pattern of a tool", "tools[0]", "no valid pattern", spec(func(s *store.Spec) { s.Tools = []string{"a__{b,c}"} })},
		{"a negated permission", "permissions[0]", "only * and ?", spec(func(s *store.Spec) { s.Permissions = []string{"!a.b"} })},
		{"a group with its prefix", "tool_groups[0]", "without group:", spec(func(s *store.Spec) { s.ToolGroups = []string{"group:x"} })},
		{"no effect", "effect", "allow or deny", spec(func(s *store.Spec) { s.Effect = 0 })},
	} {
		_, faults := access.Compile("p", row.spec)
		if len(faults) != 1 || faults[0].Field != row.field || !strings.Contains(faults[0].Message, row.says) {
			t.Errorf("%s: %v", row.name, faults)
		}
	}
}

// TestStoredPoliciesThatDoNotCompile: an older version may have stored what this one refuses.
func TestStoredPoliciesThatDoNotCompile(t *testing.T) {
	bad := store.Spec{Expression: "no(", Tools: []string{"a__*"}}
	in := input(t, user(t, `{}`))
	if v := set(t, allow("p", bad)).For(in).Tool("a__b", "alice", nil); v.Allowed {
		t.Errorf("allowing: %+v", v)
	}
	if v := set(t, deny("p", bad)).For(in).Tool("a__b", "alice", nil); !v.Denied {
		t.Errorf("denying: %+v", v)
	}
}

func TestClaimsBeyondTheLimitsAreDeniedEverything(t *testing.T) {
	s := set(t, allow("p", store.Spec{Expression: "true", Tools: []string{"*"}, Permissions: []string{"*"}}))
	for name, claims := range map[string]string{
		"too deep":  strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40),
		"too many":  `{"a":[` + strings.Repeat("1,", 5000) + `1]}`,
		"too large": `{"a":"` + strings.Repeat("x", 100_000) + `"}`,
	} {
		a := s.For(input(t, user(t, claims)))
		globs, _ := a.Permissions()
		if v := a.Tool("a__b", "alice", nil); !v.Denied || !strings.Contains(v.Reason, "claims") || len(globs) != 1 || globs[0] != "!*" {
			t.Errorf("%s: %+v, %v", name, v, globs)
		}
	}
}

func TestToolGroups(t *testing.T) {
	in := input(t, user(t, aliceClaims))
	members := access.Members{{Group: "pay", Tools: []string{"bank__pay"}}, {Group: "gone", Missing: true}}
	for _, row := range []struct {
		name, tool      string
		set             *access.Set
		allowed, denied bool
	}{
		{"a member", "bank__pay", set(t, allow("p", store.Spec{Expression: "true", ToolGroups: []string{"pay"}})), true, false},
		{"no member", "bank__see", set(t, allow("p", store.Spec{Expression: "true", ToolGroups: []string{"pay"}})), false, false},
		{
			"a group that is not there allows nothing", "bank__pay",
			set(t, allow("p", store.Spec{Expression: "true", ToolGroups: []string{"gone"}})),
			false, false,
		},
		{"and denies everything", "x__y", set(t, deny("p", store.Spec{Expression: "true", ToolGroups: []string{"gone"}})), false, true},
		{"a denied member", "bank__pay", set(t, deny("p", store.Spec{Expression: "true", ToolGroups: []string{"pay"}})), false, true},
		{"no denied member", "bank__see", set(t, deny("p", store.Spec{Expression: "true", ToolGroups: []string{"pay"}})), false, false},
	} {
		a := row.set.For(in)
		if v := a.Tool(row.tool, "alice", members); v.Allowed != row.allowed || v.Denied != row.denied {
			t.Errorf("%s: %+v", row.name, v)
		}
		nothing := func(string) (allowed, denied bool) { return false, false }
		if got := a.Tools([]string{row.tool}, members, nothing); (len(got) == 1) != row.allowed {
			t.Errorf("%s: filtered %v", row.name, got)
		}
		if missing := a.Missing(members[:0]); len(missing) != 1 {
			t.Errorf("%s: missing %v", row.name, missing)
		}
	}
}

// TestPriorityNeverChangesADecision draws policies and changes their priorities.
func TestPriorityNeverChangesADecision(t *testing.T) {
	departments := []string{"finance", "sales"}
	tools := []string{"a__read", "a__write", "b__read"}
	who := []access.Input{
		input(t, user(t, `{"department":"finance","level":1}`)), input(t, user(t, `{"department":"sales"}`)),
		input(t, user(t, `{"level":5}`)),
	}
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 6).Draw(rt, "policies")
		var first, second []store.Policy
		for i := range n {
			spec := store.Spec{
				Effect: store.Effect(rapid.IntRange(1, 2).Draw(rt, "effect")), Disabled: rapid.Bool().Draw(rt, "disabled"),
				Tools: []string{rapid.SampledFrom([]string{"a__*", "*__read", "b__read", "*"}).Draw(rt, "tools")},
			}
			if rapid.Bool().Draw(rt, "matcher") {
				spec.Matchers = []store.Matcher{{
					Path: "department", Operator: store.Operator(rapid.IntRange(1, 2).Draw(rt, "op")),
					Values: []string{rapid.SampledFrom(departments).Draw(rt, "value")},
				}}
			} else {
				spec.Expression = rapid.SampledFrom([]string{"true", "principal.claims.level > 2"}).Draw(rt, "expression")
			}
			p := store.Policy{Name: fmt.Sprintf("p%d", i), Spec: spec}
			p.Spec.Priority = rapid.Int32().Draw(rt, "priority")
			first = append(first, p)
			p.Spec.Priority = rapid.Int32().Draw(rt, "other priority")
			second = append(second, p)
		}
		one, two := set(t, first...), set(t, second...)
		for _, in := range who {
			for _, tool := range tools {
				a, b := one.For(in).Tool(tool, "x", nil), two.For(in).Tool(tool, "x", nil)
				if a.Allowed != b.Allowed || a.Denied != b.Denied || len(a.Policies) != len(b.Policies) {
					rt.Fatalf("%s: %+v and %+v", tool, a, b)
				}
			}
		}
	})
}

// TestTheNextTokenOfAUserIsTheSamePrincipal: what differs in each token does not fill the cache.
func TestTheNextTokenOfAUserIsTheSamePrincipal(t *testing.T) {
	one := input(t, user(t, `{"department":"finance","iat":1,"exp":2,"jti":"a"}`))
	two := input(t, user(t, `{"exp":9,"jti":"b","iat":8,"department":"finance"}`))
	other := input(t, user(t, `{"department":"sales"}`))
	if one.Hash != two.Hash || one.Hash == other.Hash || len(one.Hash) != 64 {
		t.Errorf("%s, %s, %s", one.Hash, two.Hash, other.Hash)
	}
}

func FuzzCompile(f *testing.F) {
	f.Add("a.b", "fin.*", "principal.claims.x == 1")
	f.Add(`https://x\.y/z`, "(", "[1].all(a, a > 0)")
	f.Fuzz(func(t *testing.T, path, pattern, expression string) {
		spec := store.Spec{
			Effect: store.Allow, Expression: expression, Tools: []string{pattern},
			Matchers: []store.Matcher{{Path: path, Operator: store.Matches, Values: []string{pattern}}},
		}
		s := set(t, store.Policy{Name: "p", Spec: spec})
		s.For(input(t, user(t, aliceClaims))).Tool(path, pattern, nil)
	})
}

func BenchmarkDecision(b *testing.B) {
	var policies []store.Policy
	for i := range 50 {
		policies = append(policies, allow(fmt.Sprintf("p%d", i), store.Spec{
			Matchers: []store.Matcher{
				{Path: "department", Operator: store.Equals, Values: []string{"finance"}},
				{Path: "level", Operator: store.Matches, Values: []string{fmt.Sprint(i % 5)}},
			},
			Tools: []string{fmt.Sprintf("s%d__*", i), "orders__*"},
		}))
	}
	s := set(b, policies...)
	who := user(b, aliceClaims)
	b.Run("hot", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if v := s.For(input(b, who)).Tool("orders__search", "alice", nil); !v.Allowed {
				b.Fatal(v)
			}
		}
	})
	b.Run("cold", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			who.Subject = fmt.Sprint(i)
			if v := s.For(input(b, who)).Tool("orders__search", "alice", nil); !v.Allowed {
				b.Fatal(v)
			}
		}
	})
}
