package builtin

// AskUser is the tool that asks the user a question. It does not run here: the turn waits for the answer.
const AskUser = "ask_user"

func askUser() Tool {
	return Tool{
		Name: AskUser, Title: "Ask the user",
		Description: "Asks the user a question and waits for the answer, for hours or days where need be. " +
			"Give options for a choice, or schema for a form; without them the answer is text.",
		InputSchema: []byte(`{"type":"object","properties":{` +
			`"question":{"type":"string","minLength":1,"maxLength":4000,"description":"what to ask"},` +
			`"options":{"type":"array","minItems":1,"maxItems":50,"uniqueItems":true,"items":{"type":"string","maxLength":200},` +
			`"description":"answers to choose from"},` +
			`"schema":{"type":"object","description":"JSON Schema of an object: the form to fill in, instead of options"}},` +
			`"required":["question"],"additionalProperties":false}`),
	}
}
