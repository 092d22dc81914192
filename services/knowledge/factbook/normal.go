package factbook

import (
	"cmp"
	"strings"
)

// user is the entity that stands for the user.
const user = "user"

// pronouns are other words for it.
var pronouns = map[string]bool{"": true, "i": true, "me": true, "my": true, "myself": true, "self": true, "the user": true, "user's": true}

// fold returns a text in which case, spaces and separators do not differ.
func fold(text string) string {
	text = strings.NewReplacer("_", " ", "-", " ", "’", "'").Replace(strings.ToLower(text))
	return strings.Join(strings.Fields(text), " ")
}

// foldValue is fold for values, in which separators differ.
func foldValue(text string) string {
	return strings.TrimRight(strings.Join(strings.Fields(strings.ToLower(text)), " "), ".!")
}

// entityOf returns the name under which an entity is compared: "my brother's" and "Brother" are one.
func entityOf(text string) string {
	name := fold(text)
	if pronouns[name] {
		return user
	}
	for _, article := range []string{"my ", "the ", "our "} {
		name = strings.TrimPrefix(name, article)
	}
	return cmp.Or(strings.TrimSuffix(name, "'s"), user)
}

// attributeOf returns the name under which an attribute is compared.
func attributeOf(text string) string {
	name := fold(text)
	for _, article := range []string{"my ", "the "} {
		name = strings.TrimPrefix(name, article)
	}
	return name
}
