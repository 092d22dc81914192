package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/windlass-dev/windlass/libs/config"
)

// thing reads a mapping itself.
type thing struct{ text string }

func (c *thing) ReadNode(n *yaml.Node, bad func(line int, key, problem string)) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == "wrong" {
			bad(n.Content[i].Line, "wrong", "is wrong")
		}
		c.text += n.Content[i].Value + "=" + n.Content[i+1].Value + ";"
	}
}

func TestNode(t *testing.T) {
	file := filepath.Join(t.TempDir(), "windlass.yaml")
	var into struct {
		Things []thing `yaml:"things"`
	}
	load := func(text string, keep bool) error {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return config.Load(config.Options{File: file, Environ: []string{"A=one"}, KeepReferences: keep, Into: &into})
	}
	const good = "things:\n- &x {a: \"${env:A}\", b: \"$${env:A}\"}\n- *x\n"
	if err := load(good, false); err != nil || len(into.Things) != 2 || into.Things[1].text != "a=one;b=${env:A};" {
		t.Errorf("%+v, %v", into, err)
	}
	if err := load(good, true); err != nil || into.Things[0].text != "a=${env:A};b=$${env:A};" {
		t.Errorf("references that are kept: %+v, %v", into, err)
	}
	for text, want := range map[string]string{
		"things:\n- a: b\n  wrong: c": "windlass.yaml:3: things[0].wrong: is wrong",
		"things: [{a: '${env:B}'}]":   "windlass.yaml:1: things[0]: environment variable B is not set",
		"things: [a]":                 "windlass.yaml:1: things[0]: want keys below it",
	} {
		if err := load(text, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
