package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"github.com/temporalio/ui-server/v2/server/api"
	"github.com/temporalio/ui-server/v2/server/config"
	"github.com/temporalio/ui-server/v2/server/cors"
	"github.com/temporalio/ui-server/v2/server/csrf"
	"github.com/temporalio/ui-server/v2/server/headers"
	"github.com/temporalio/ui-server/v2/server/route"
	"github.com/temporalio/ui-server/v2/ui"
)

// webUI is Temporal's UI on our listener. The UI's own server opens its port itself and exits if it cannot; here a port in use is an
// ordinary error before anything else starts, and port 0 has no race.
type webUI struct {
	listener net.Listener // nil: headless
	trusted  *certificates
	server   *http.Server
}

func listenUI(opts options, trusted *certificates) (*webUI, error) {
	if opts.headless {
		return &webUI{}, nil
	}
	l, err := listen(opts.uiHost, opts.uiPort, "--ui-port")
	if err != nil {
		return nil, err
	}
	return &webUI{listener: l, trusted: trusted}, nil
}

// url returns the URL of the UI; empty if there is none.
func (u *webUI) url() string {
	if u.listener == nil {
		return ""
	}
	addr := u.listener.Addr().(*net.TCPAddr)
	scheme := "http://"
	if u.trusted != nil {
		scheme = "https://"
	}
	return scheme + dialable(addr.IP.String(), addr.Port)
}

// serve starts serving. The channel receives the error that ends it, if any.
func (u *webUI) serve(frontend string, opts options) (<-chan error, error) {
	failed := make(chan error, 1)
	if u.listener == nil {
		return failed, nil
	}
	handler, err := uiHandler(frontend, opts)
	if err != nil {
		return nil, fmt.Errorf("web UI: %w", err)
	}
	u.server = &http.Server{Handler: guard(handler), ReadHeaderTimeout: 10 * time.Second}
	listener := u.listener
	if u.trusted != nil {
		listener = tls.NewListener(listener, u.trusted.server("http/1.1"))
	}
	go func() {
		if err := u.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			failed <- err
		}
	}()
	return failed, nil
}

func (u *webUI) close() {
	if u.server != nil {
		_ = u.server.Close()
	} else if u.listener != nil {
		_ = u.listener.Close()
	}
}

// uiHandler assembles the UI's public parts as its own server does, without what a local server does not need: sign-in, another public path.
func uiHandler(frontend string, opts options) (http.Handler, error) {
	settings, err := config.NewConfigProviderWithRefresh(&config.Config{
		TemporalGRPCAddress: frontend,
		TLS:                 uiCredentials(opts.tls),
		DefaultNamespace:    opts.namespaces[0],
		EnableUI:            true,
		DisableNewsFetch:    true, // the page must not depend on the internet
		HideLogs:            true,
		CORS:                config.CORS{CookieInsecure: true}, // plain HTTP
		Codec: config.Codec{
			Endpoint: opts.codecEndpoint, IncludeCredentials: true, // the gateway's cookie, where people log in
			DefaultErrorMessage: "Windlass did not decode this workflow: is it running, and may you decode payloads?",
		},
	})
	if err != nil {
		return nil, err
	}
	assets, err := ui.Assets()
	if err != nil {
		return nil, err
	}
	if assets, err = fs.Sub(assets, "local"); err != nil {
		return nil, err
	}
	e := echo.New()
	e.Use(middleware.Recover(), middleware.Gzip(), allowOrigins(settings), middleware.Secure(),
		csrf.EnsureTokenCookie(false), middleware.CSRFWithConfig(csrf.MiddlewareConfig(settings, false)))
	route.SetHealthRoute(e)
	forward := []api.Middleware{headers.WithForwardHeaders([]string{"Caller-Type"})}
	if err := route.SetAPIRoutes(e, settings, forward); err != nil {
		return nil, err
	}
	if err := route.SetUIRoutes(e, "", assets); err != nil {
		return nil, err
	}
	route.SetRenderRoute(e, "")
	return e, nil
}

// uiCredentials makes the UI a client of the frontend. Without a name it checks the address that it calls.
func uiCredentials(f certificateFiles) config.TLS {
	return config.TLS{
		CaFile: f.ca, CertFile: f.cert, KeyFile: f.key, ServerName: f.serverName, EnableHostVerification: f.cert != "",
	}
}

func allowOrigins(settings *config.ConfigProviderWithRefresh) echo.MiddlewareFunc {
	return cors.CORSMiddleware(cors.CORSConfig{
		AllowHeaders: []string{
			echo.HeaderOrigin, echo.HeaderContentType, echo.HeaderAccept, echo.HeaderXCSRFToken, "Caller-Type",
		},
		AllowCredentials: true,
		ConfigProvider:   settings,
	})
}
