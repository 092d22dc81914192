package openapi

// upload turns an operation into one that takes a file as a form, and has no parameters.
func upload(op object) {
	op["requestBody"] = object{"required": true, "content": object{"multipart/form-data": object{"schema": object{
		"type": "object", "required": []string{"file"},
		"properties": object{"file": object{
			"type": "string", "format": "binary", "description": "The file, with its name and media type.",
		}},
	}}}}
	responses := op["responses"].(object)
	created := responses["200"].(object)
	created["description"] = "The file that was stored."
	described(created)["Location"] = object{"description": "Path of the file.", "schema": object{"type": "string"}}
	responses["201"] = created
	delete(responses, "200")
}

// documentForm adds the form that stores a document.
func documentForm(op object) {
	text := func(description string) object { return object{"type": "string", "description": description} }
	texts := func(description string) object {
		return object{"type": "array", "items": object{"type": "string"}, "description": description}
	}
	op["requestBody"].(object)["content"].(object)["multipart/form-data"] = object{"schema": object{
		"type": "object", "required": []string{"file"},
		"properties": object{
			"name":       text("Name, unique in the bank; without it, that of the file. Parts other than the file come before it."),
			"labels":     texts("A label in each part."),
			"attributes": texts("An attribute in each part, as NAME=VALUE."),
			"file": object{
				"type": "string", "format": "binary", "description": "The document, with its name and media type.",
			},
		},
	}}
}

// fileContent turns an operation into one that returns the bytes of a file.
func fileContent(op object, params []object) []object {
	bytes := object{"*/*": object{"schema": object{"type": "string", "format": "binary"}}}
	responses := op["responses"].(object)
	responses["200"] = object{"description": "The bytes.", "content": bytes}
	responses["206"] = object{"description": "The bytes of the range.", "content": bytes}
	responses["304"] = object{"description": "The file has one of the ETags in If-None-Match."}
	var out []object
	for _, p := range params {
		if p["in"] == "path" {
			out = append(out, p)
		}
	}
	return append(out, header("Range", "One range of bytes, such as bytes=0-1023."), header("If-None-Match", "ETags that the caller knows."))
}
