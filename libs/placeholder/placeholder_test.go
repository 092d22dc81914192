package placeholder_test

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/placeholder"
)

// values resolves ${params.…} from a map.
func values(m map[string]string) placeholder.Lookup {
	return func(r placeholder.Ref) (string, *placeholder.Error) {
		if v, ok := m[r.Namespace+"."+r.Path]; ok {
			return v, nil
		}
		return "", placeholder.Wrong(r, "is not known")
	}
}

func TestResolve(t *testing.T) {
	known := map[string]string{"params.a": "A", "params.b.c": "${params.a}", "params.dollar": "$", "runner.host": "h1"}
	for _, row := range []struct{ name, text, want, wrong string }{
		{"nothing to do", "it costs $5 {really}", "it costs $5 {really}", ""},
		{"values", "<${params.a}> ${params.a}${params.b.c}", "<A> A${params.a}", ""},
		{"an escape", "$${params.a} is ${params.a}", "${params.a} is A", ""},
		{"a dollar before a brace that is none", "${params.dollar}{params.a}", "${params.a}", ""},
		{"an unknown one", "x ${params.z} ${env.HOME}", "", "${params.z} is not known; ${env.HOME} is not known"},
		{"no namespace", "${name}", "", "${name} is no placeholder"},
		{"white space", "${params. a}", "", "${params. a} is no placeholder"},
		{"empty", "${}", "", "${} is no placeholder"},
		{"never closed", "a ${params.a", "", "${params.a has no closing brace"},
		{"inside another", "${params.${params.a}}", "", "is no placeholder"},
		{"not ASCII", "ä${params.a}ö", "äAö", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, wrong := placeholder.Resolve(row.text, values(known))
			if got != row.want || !strings.Contains(text(wrong), row.wrong) || (row.wrong == "") != (wrong == nil) {
				t.Errorf("%q, %s; want %q, %s", got, text(wrong), row.want, row.wrong)
			}
			first, early := placeholder.Begin(row.text, values(known), "runner")
			if early == nil {
				first, early = placeholder.Finish(first, values(known))
			}
			if first != got || text(early) != text(wrong) {
				t.Errorf("in two stages: %q, %s; at once: %q, %s", first, text(early), got, text(wrong))
			}
		})
	}
}

func TestASecondStageReadsNoValuesOfTheFirst(t *testing.T) {
	for _, evil := range []string{"${runner.host}", "$", "$$", "$${runner.host}", "$${", "${"} {
		known := map[string]string{"params.evil": evil, "runner.host": "HOST"}
		for _, around := range []string{"${params.evil}", "${params.evil}{runner.host}", "${params.evil}${runner.host}", "a$ ${params.evil}$"} {
			sealed, wrong := placeholder.Begin(around, values(known), "runner")
			if wrong != nil {
				t.Fatal(text(wrong))
			}
			got, wrong := placeholder.Finish(sealed, values(known))
			want := strings.ReplaceAll(strings.ReplaceAll(around, "${runner.host}", "HOST"), "${params.evil}", evil)
			if wrong != nil || got != want {
				t.Errorf("%q with %q: %q, %s; want %q", around, evil, got, text(wrong), want)
			}
		}
	}
}

func TestCheckNamesAll(t *testing.T) {
	wrong := placeholder.Check("${a.b} $${a.c} ${a.d} ${x}", func(r placeholder.Ref) *placeholder.Error {
		return placeholder.Wrong(r, "is refused")
	})
	if got := text(wrong); !strings.HasPrefix(got, "${a.b} is refused; ${a.d} is refused; ${x} is no placeholder") {
		t.Error(got)
	}
}

func TestFinishRefusesWhatWasNotSealed(t *testing.T) {
	for _, bad := range []string{"it costs $5", "$", "${runner.host", "${x}"} {
		if got, wrong := placeholder.Finish(bad, values(nil)); wrong == nil {
			t.Errorf("%q became %q", bad, got)
		}
	}
}

func TestFind(t *testing.T) {
	claims := map[string]any{
		"https://example.com/team": "red", "a": map[string]any{"b": map[string]any{"c": 1.5}, "x.y": true}, "a.b": map[string]any{"d": nil},
	}
	for path, want := range map[string]string{
		"https://example.com/team": "red", "a.b.c": "1.5", "a.x.y": "true", "a.b.d": "null", "a.b": `{"d":null}`,
		"a": `{"b":{"c":1.5},"x.y":true}`,
	} {
		got, ok := placeholder.Find(claims, path)
		if !ok || placeholder.Text(got) != want {
			t.Errorf("%s = %s, %v; want %s", path, placeholder.Text(got), ok, want)
		}
	}
	for _, path := range []string{"", ".", "a.", "a.b.e", "b", "a.b.c.d"} {
		if v, ok := placeholder.Find(claims, path); ok {
			t.Errorf("%q is %v", path, v)
		}
	}
}

func FuzzTwoStages(f *testing.F) {
	f.Add("Hello ${params.a}, I am ${runner.b}", "$${", "{x}")
	f.Add("${params.a}{runner.b}", "$", "")
	f.Add("$${params.a}$$${runner.b}", "", "$")
	f.Fuzz(func(t *testing.T, content, a, b string) {
		known := values(map[string]string{"params.a": a, "runner.b": b})
		at, wrong := placeholder.Resolve(content, known)
		sealed, first := placeholder.Begin(content, known, "runner")
		if first != nil {
			if wrong == nil {
				t.Fatalf("only the stages refuse %q: %s", content, text(first))
			}
			return
		}
		two, second := placeholder.Finish(sealed, known)
		if two != at || (second == nil) != (wrong == nil) {
			t.Fatalf("%q: %q in two stages (%s), %q at once (%s)", content, two, text(second), at, text(wrong))
		}
	})
}

func text(wrong []*placeholder.Error) string {
	var all []string
	for _, e := range wrong {
		all = append(all, e.Error())
	}
	return strings.Join(all, "; ")
}
