package rank

import "strings"

// stopWords are analysed English words that say nothing about what a question asks for. They are few: in a bank they are common anyway,
// and then weigh little. Texts keep them.
var stopWords = func() map[string]bool {
	words := map[string]bool{}
	for word := range strings.FieldsSeq(`a an and are as at be been but by can could did do does for from had has have how i if in into is it
		its may me my of on or our shall should so than that the their them then there these they this those to was we were what when where
		which who whom whose why will with would you your`) {
		analyse(word, func(word string, _ bool) { words[word] = true })
	}
	return words
}()
