package glob

import "testing"

func TestPatternsOfToolNamesAreChecked(t *testing.T) {
	for _, good := range []string{"*", "bank__pay", "bank__*", "?ank__pay_*", "mesh__a-b.c/d", "größe__*", ""} {
		if err := CheckName(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"bank__[ps]ay", "bank__{pay,send}", "[x", "!bank__*", "a, b", "${params.x}__*", `bank__\*`, "a|b", "^bank"} {
		if CheckName(bad) == nil {
			t.Errorf("%q passes", bad)
		}
	}
}
