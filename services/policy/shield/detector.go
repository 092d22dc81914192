package shield

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// kind is a kind of detector.
type kind struct {
	name string
	// find returns what finds things, as configured.
	find func(c Config) (detector, error)
	// open returns where findings may change with more text. An outline matches whatever a finding depends on, and may match more.
	open func(c Config) open
}

// kinds lists the detectors of this package.
var kinds = []kind{
	{
		name: "pattern",
		find: func(c Config) (detector, error) {
			re, err := regexp.Compile(c.Pattern)
			if err != nil {
				return nil, fmt.Errorf("pattern: %w", err)
			}
			return pattern(re, "pattern"), nil
		},
		open: func(c Config) open { return anyOf(c.Pattern) },
	},
	ofWords("secrets", secrets, secretExpressions()...),
	ofWords("pii", func() detector { return all(emails(), ibans(), cards(), phones()) },
		emailExpression, ibanOutline, cardOutline, phoneExpression),
	ofWords("email", emails, emailExpression),
	ofWords("phone", phones, phoneExpression),
	ofWords("iban", ibans, ibanOutline),
	ofWords("card", cards, cardOutline),
	{
		name: "invisible",
		find: func(Config) (detector, error) { return invisible, nil },
		open: func(Config) open { return anyOf(flagOutline) },
	},
	{
		name: "links",
		find: func(c Config) (detector, error) {
			hosts, err := hostNames(c.Hosts)
			return folded(links(hosts)), err
		},
		open: func(Config) open { return foldedOpen(anyOf(withScheme.String(), inMarkup.String())) },
	},
	{
		name: "size",
		find: func(c Config) (detector, error) { return longer(c.MaxBytes), nil },
		open: func(Config) open { // what is found continues to the end, whatever follows
			return func(text string) int { return len(text) }
		},
	},
}

// ofWords returns a kind that reads the folded text and has no settings.
func ofWords(name string, find func() detector, outlines ...string) kind {
	return kind{
		name: name,
		find: func(Config) (detector, error) { return folded(find()), nil },
		open: func(Config) open { return foldedOpen(anyOf(outlines...)) },
	}
}

// kind returns the kind of the configured detector.
func (c Config) kind() (kind, error) {
	switch {
	case (c.Pattern != "") != (c.Detector == "pattern"):
		return kind{}, errors.New("give a pattern with the detector pattern, and only there")
	case c.MaxBytes < 0, (c.MaxBytes > 0) != (c.Detector == "size"):
		return kind{}, errors.New("give max_bytes with the detector size, and only there")
	case len(c.Hosts) > 0 && c.Detector != "links":
		return kind{}, errors.New("give hosts with the detector links, and only there")
	}
	var names []string
	for _, k := range kinds {
		if k.name == c.Detector {
			return k, nil
		}
		names = append(names, k.name)
	}
	return kind{}, fmt.Errorf("there is no detector %q: want %s, guard, moderation or webhook", c.Detector, strings.Join(names, ", "))
}
