package archive

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
)

// describe writes SHA256SUMS, in the form that `sha256sum --check` reads, and the statement of provenance.
func (r *Release) describe(made []artifact) error {
	slices.SortFunc(made, func(a, b artifact) int { return strings.Compare(a.name, b.name) })
	others, err := r.otherWays(made)
	if err != nil {
		return err
	}
	made = append(made, others...)
	statement, err := json.MarshalIndent(r.provenance(made), "", "  ")
	if err != nil {
		return fmt.Errorf("say where the archives come from: %w", err)
	}
	name := "windlass_" + r.Version + ".intoto.json"
	s, err := r.publish(name, func(f *os.File) error {
		_, err := f.Write(append(statement, '\n'))
		return err
	})
	if err != nil {
		return err
	}
	_, err = r.publish("SHA256SUMS", func(f *os.File) error {
		for _, a := range append(made, s) {
			if _, err := fmt.Fprintf(f, "%s  %s\n", a.sum, a.name); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

type object = map[string]any

// provenance is an in-toto statement (https://in-toto.io/Statement/v1) whose predicate is SLSA provenance v1: from which commit, with which
// compiler and command the archives were made. It is not signed: a release signs it where its key is.
func (r *Release) provenance(made []artifact) object {
	subjects := make([]object, 0, len(made))
	for _, a := range made {
		subjects = append(subjects, object{"name": a.name, "digest": object{"sha256": a.sum}})
	}
	return object{
		"_type": "https://in-toto.io/Statement/v1", "subject": subjects, "predicateType": "https://slsa.dev/provenance/v1",
		"predicate": object{
			"buildDefinition": object{
				"buildType":          "https://github.com/windlass-dev/windlass/blob/main/docs/how-to/release.md",
				"externalParameters": object{"version": r.Version},
				"internalParameters": object{"go": runtime.Version(), "command": "make dist VERSION=" + r.Version},
				"resolvedDependencies": []object{{
					"uri": "git+https://github.com/windlass-dev/windlass", "digest": object{"gitCommit": r.Commit},
				}},
			},
			"runDetails": object{"builder": object{"id": "https://github.com/windlass-dev/windlass/blob/main/Makefile"}},
		},
	}
}
