package rpc

import (
	"crypto/tls"
	"net/http"
	"time"
)

// HTTPTransport makes HTTP requests to a server beside the mesh that the configuration names, such as the UI of Temporal. It uses no proxy
// of the environment.
func HTTPTransport(secure *tls.Config) *http.Transport {
	return &http.Transport{
		TLSClientConfig: secure, TLSHandshakeTimeout: 10 * time.Second, MaxIdleConnsPerHost: 16, IdleConnTimeout: 90 * time.Second,
		MaxResponseHeaderBytes: 256 << 10,
	}
}
