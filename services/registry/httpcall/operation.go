// Package httpcall makes calls of tools that are operations of an HTTP API: it writes the request from the operation's description and the
// arguments, sends it once, and reads the response.
package httpcall

// Operation says how the arguments of a tool become an HTTP request. It is stored as JSON with the tool's definition.
type Operation struct {
	// Method is an HTTP method in capitals.
	Method string `json:"method"`
	// URL is the absolute URL; a query in it is sent with each call. "{name}" stands for the path parameter of that name.
	URL string `json:"url"`
	// Parameters are the parts of the request outside its body.
	Parameters []Parameter `json:"parameters,omitempty"`
	// Body is the request's body; nil = none.
	Body *Body `json:"body,omitempty"`
	// Accept is the Accept header; empty = anything, preferably JSON.
	Accept string `json:"accept,omitempty"`
	// Answers are the media types of a successful answer; empty = not described.
	Answers []string `json:"answers,omitempty"`
	// KeyHeader is the header in which the API takes the key that identifies a call; empty = it takes none. Some APIs refuse a header that
	// they do not know.
	KeyHeader string `json:"key_header,omitempty"`
}

// Places of a parameter.
const (
	InPath   = "path"
	InQuery  = "query"
	InHeader = "header"
	InCookie = "cookie"
)

// Styles of a parameter, as in the OpenAPI Specification 3.1.1, section 4.8.12.6.
const (
	Simple         = "simple"
	Label          = "label"
	Matrix         = "matrix"
	Form           = "form"
	SpaceDelimited = "spaceDelimited"
	PipeDelimited  = "pipeDelimited"
	DeepObject     = "deepObject"
)

// Parameter is a part of a request outside its body.
type Parameter struct {
	// Argument is its name among the arguments, Name its name in the request.
	Argument string `json:"argument"`
	Name     string `json:"name"`
	// In is its place.
	In string `json:"in"`
	// Style and Explode say how arrays and objects are written. An empty style means that the value is written as JSON.
	Style   string `json:"style,omitempty"`
	Explode bool   `json:"explode,omitempty"`
	// Reserved leaves reserved characters of a query value as they are, except those that delimit the query's parts.
	Reserved bool `json:"reserved,omitempty"`
	// Value is a constant value, which is used if there is no argument.
	Value string `json:"value,omitempty"`
}

// Body is how a request's body is written.
type Body struct {
	// Argument is the name of the argument that is the body.
	Argument string `json:"argument"`
	// MediaType decides how it is written: JSON, a form, several parts, else text.
	MediaType string `json:"media_type"`
	// Base64 means that the argument is the body in base64.
	Base64 bool `json:"base64,omitempty"`
	// Parts describes the fields of a form that are not written as their type suggests.
	Parts map[string]Part `json:"parts,omitempty"`
}

// Part is how one field of a form is written.
type Part struct {
	// File means that the argument is a file: an object with "text" or "base64", and optionally "filename" and "media_type".
	File bool `json:"file,omitempty"`
	// MediaType is the content type; empty = as the type of the value suggests.
	MediaType string `json:"media_type,omitempty"`
	// Style, Explode and Reserved are those of a parameter. Empty = by media type.
	Style    string `json:"style,omitempty"`
	Explode  bool   `json:"explode,omitempty"`
	Reserved bool   `json:"reserved,omitempty"`
}
