package config_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/secret"
)

type limits struct {
	Memory config.Size `yaml:"memory" default:"8GiB" zero:"off"`
	Files  int         `yaml:"files" default:"4096"`
	Steps  uint32      `yaml:"steps"`
}

type base struct {
	Level string `yaml:"level" default:"info"`
}

type preset struct {
	base    `yaml:",inline"`
	Every   time.Duration     `yaml:"every" default:"1h30m"`
	Ratio   float64           `yaml:"ratio" default:"0.5"`
	Name    string            `yaml:"name" default:"a, b"`
	On      bool              `yaml:"on" default:"true"`
	Scopes  []string          `yaml:"scopes" default:"openid,profile"`
	Targets map[string]string `yaml:"targets" default:"a=1,b=2"`
	Own     limits            `yaml:"own"`
	Most    limits            `yaml:"most" default:"{files: 9, steps: 3}"`
	Key     secret.Value      `yaml:"key"`
	Hidden  int               `yaml:"-" default:"7"`
	private int
}

func TestDefaultTags(t *testing.T) {
	got := config.Default[preset]()
	want := preset{
		base: base{"info"}, Every: 90 * time.Minute, Ratio: 0.5, Name: "a, b", On: true, Scopes: []string{"openid", "profile"},
		Targets: map[string]string{"a": "1", "b": "2"}, Own: limits{Memory: 8 << 30, Files: 4096},
		Most: limits{Memory: 8 << 30, Files: 9, Steps: 3}, Hidden: 7,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	config.Default[preset]().Targets["a"] = "changed"
	if again := config.Default[preset](); !reflect.DeepEqual(again, want) {
		t.Errorf("defaults share a map: %+v", again)
	}
}

func TestFillSetsWhatIsZeroAndNoSetting(t *testing.T) {
	var got preset
	got.private = 1
	got.Ratio, got.Most.Files = 0.25, 1
	config.Fill(&got)
	want := config.Default[preset]()
	want.private, want.Ratio, want.Most.Files = 1, 0.25, 1
	want.On, want.Scopes, want.Targets = false, nil, nil
	want.Own.Memory, want.Most.Memory = 0, 0
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// What a file sets to zero stays zero, unless a constructor fills it.
func TestZeroInAFileReplacesTheDefault(t *testing.T) {
	got := config.Default[preset]()
	err := config.Load(config.Options{
		EnvPrefix: "P_", Environ: []string{"P_OWN_MEMORY=0", "P_EVERY=0s", "P_SCOPES=", "P_ON=false"}, Into: &got,
	})
	if err != nil || got.Own.Memory != 0 || got.Every != 0 || len(got.Scopes) != 0 || got.On || got.Own.Files != 4096 {
		t.Errorf("Load = %+v, %v", got, err)
	}
}

func TestMalformedDefaultPanics(t *testing.T) {
	for want, f := range map[string]func(){
		"A: want a duration": func() {
			config.Default[struct {
				A time.Duration `default:"1 hour"`
			}]()
		},
		"B: want a whole number": func() {
			config.Default[struct {
				A struct {
					B int `default:"1MiB"`
				}
			}]()
		},
		"C: unknown key": func() {
			config.Default[struct {
				A limits `default:"{C: 1}"`
			}]()
		},
	} {
		func() {
			defer func() {
				if err, _ := recover().(error); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("panic %v, want %q", err, want)
				}
			}()
			f()
		}()
	}
}

func TestCheckNotNegative(t *testing.T) {
	c := config.Default[preset]()
	if err := config.CheckNotNegative(c); err != nil {
		t.Error(err)
	}
	c.Hidden, c.Most.Files = -1, -1
	if err := config.CheckNotNegative(&c); err == nil || err.Error() != "most.files must not be negative" {
		t.Errorf("got %v", err)
	}
	c.Every = -1
	if err := config.CheckNotNegative(c); err == nil || err.Error() != "every must not be negative" {
		t.Errorf("got %v", err)
	}
}
