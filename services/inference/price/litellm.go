package price

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/windlass-dev/windlass/libs/money"
)

// FromLiteLLM reads prices from LiteLLM's file model_prices_and_context_window.json, sorted by model. providers maps the file's names of
// providers to ours; those that it lacks are left out, unless it is empty. Entries without a price for tokens are left out.
func FromLiteLLM(file []byte, providers map[string]string) (List, error) {
	var models map[string]map[string]any
	dec := json.NewDecoder(bytes.NewReader(file))
	dec.UseNumber()
	if err := dec.Decode(&models); err != nil {
		return nil, fmt.Errorf("read prices: %w", err)
	}
	var out List
	for _, key := range slices.Sorted(maps.Keys(models)) {
		fields := entry(models[key])
		theirs, _ := fields["litellm_provider"].(string)
		ours, ok := ourProvider(theirs, providers)
		input, priced := fields.perMillion("input_cost_per_token")
		if !ok || !priced || key == "sample_spec" {
			continue
		}
		c := Config{Model: ours + "/" + strings.TrimPrefix(key, theirs+"/"), Input: input}
		c.Output, _ = fields.perMillion("output_cost_per_token")
		c.CachedInput, c.CacheWrite = fields.optional("cache_read_input_token_cost"), fields.optional("cache_creation_input_token_cost")
		c.Tiers = fields.tiers(c)
		if err := c.Check(); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b Config) int { return cmp.Compare(a.Model, b.Model) })
	return out, nil
}

// ourProvider returns the name of a provider here.
func ourProvider(theirs string, providers map[string]string) (string, bool) {
	if len(providers) > 0 {
		ours, ok := providers[theirs]
		return ours, ok
	}
	theirs, _, _ = strings.Cut(theirs, "_converse") // Bedrock has two
	return theirs, theirs != ""
}

// entry is a model of the file.
type entry map[string]any

// perMillion returns the price of a million of what costs a field each, rounded up to a millionth; false if there is none.
func (e entry) perMillion(field string) (money.Micros, bool) {
	number, _ := e[field].(json.Number)
	each, ok := new(big.Rat).SetString(number.String())
	if !ok || each.Sign() < 0 {
		return 0, false
	}
	micros := each.Mul(each, big.NewRat(money.Unit*money.Unit, 1))
	whole, rest := new(big.Int).QuoRem(micros.Num(), micros.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		whole.Add(whole, big.NewInt(1))
	}
	return money.Micros(whole.Int64()), whole.IsInt64()
}

func (e entry) optional(field string) *money.Micros {
	if price, ok := e.perMillion(field); ok {
		return &price
	}
	return nil
}

var above = regexp.MustCompile(`^input_cost_per_token_above_(\d+)k_tokens$`)

// tiers returns the prices of long prompts. What a tier does not say is as without it.
func (e entry) tiers(base Config) []Tier {
	var out []Tier
	for _, key := range slices.Sorted(maps.Keys(e)) {
		found := above.FindStringSubmatch(key)
		if found == nil {
			continue
		}
		thousands, err := strconv.ParseInt(found[1], 10, 32)
		input, ok := e.perMillion(key)
		if err != nil || !ok {
			continue
		}
		end := "_above_" + found[1] + "k_tokens"
		t := Tier{Above: thousands * 1000, Input: input, Output: base.Output, CachedInput: base.CachedInput, CacheWrite: base.CacheWrite}
		if output, ok := e.perMillion("output_cost_per_token" + end); ok {
			t.Output = output
		}
		if cached := e.optional("cache_read_input_token_cost" + end); cached != nil {
			t.CachedInput = cached
		}
		if stored := e.optional("cache_creation_input_token_cost" + end); stored != nil {
			t.CacheWrite = stored
		}
		out = append(out, t)
	}
	return out
}

// YAML returns prices as a file of the configuration (inference.price_file) has them.
func (l List) YAML() []byte {
	var b bytes.Buffer
	b.WriteString("prices:\n")
	for _, c := range l {
		fmt.Fprintf(&b, "- {model: %s, %s", strconv.Quote(c.Model), c.base().fields())
		if len(c.Tiers) > 0 {
			b.WriteString(", tiers: [")
			for i, t := range c.Tiers {
				if i > 0 {
					b.WriteString(", ")
				}
				fmt.Fprintf(&b, "{above: %d, %s}", t.Above, t.fields())
			}
			b.WriteString("]")
		}
		b.WriteString("}\n")
	}
	return b.Bytes()
}

func (t Tier) fields() string {
	out := fmt.Sprintf("input: %s, output: %s", t.Input, t.Output)
	if t.CachedInput != nil {
		out += ", cached_input: " + t.CachedInput.String()
	}
	if t.CacheWrite != nil {
		out += ", cache_write: " + t.CacheWrite.String()
	}
	return out
}
