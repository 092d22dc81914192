package openapi

import (
	"maps"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// Headers of the tus protocol, as gateway/upload has them.
const (
	tusHeader    = "Tus-Resumable"
	offsetHeader = "Upload-Offset"
)

func tusVersion() object {
	return header(tusHeader, "Version of the tus protocol: 1.0.0, also without the header.")
}

// arrived are the headers of an answer that says how much of an upload has arrived.
func arrived() object {
	return object{offsetHeader: object{"description": "Number of bytes that have arrived.", "schema": object{"type": "string"}}}
}

// resumable turns an operation of an upload into one of the tus protocol, whose parameters are in headers. It returns its parameters.
func resumable(op object, id string, params []object) []object {
	responses := op["responses"].(object)
	out := []object{tusVersion()}
	if id == "deleteUpload" {
		delete(responses, "200")
		responses["204"] = object{"description": "It is deleted."}
		return append(out, params...)
	}
	length := header("Upload-Length", "Size of the file in bytes.")
	length["required"] = true
	progress := arrived()
	progress["Location"] = object{"description": "Path of the upload.", "schema": object{"type": "string"}}
	responses["201"].(object)["headers"] = progress
	return append(out, length,
		header("Upload-Metadata", `Pairs of a key and a value in base64, with commas between; "filename" and "filetype" are read.`))
}

// addAppend adds the operation that sends bytes of an upload. The generator knows no such paths of client streams.
func (b *builder) addAppend() {
	at := header(offsetHeader, "Number of bytes before those of the body. It must be the number of those that have arrived.")
	at["required"] = true
	responses := object{"204": object{"description": "The bytes have arrived.", "headers": arrived()}}
	maps.Copy(responses, problems())
	op := object{
		"operationId": "appendUpload", "tags": []string{"FileService"}, "summary": "AppendUpload adds bytes to an upload.",
		"description": "AppendUpload adds bytes to an upload. What arrived before an error is kept. With the last byte the file is stored.",
		"parameters": []object{
			tusVersion(), at, {"name": "upload_id", "in": "path", "required": true, "description": `"upl_…".`, "schema": object{"type": "string"}},
		},
		"requestBody": object{"required": true, "content": object{"application/offset+octet-stream": object{
			"schema": object{"type": "string", "format": "binary"},
		}}},
		"responses": responses,
	}
	secure(op, sessionsv1.File_windlass_sessions_v1_files_proto.Services().ByName("FileService").Methods().ByName("AppendUpload"))
	b.paths["/v1/uploads/{upload_id}"]["patch"] = op
}
