package temporalui

import "html/template"

// loginPage has a link and does not redirect: a login that the UI does not see would go around in circles.
var loginPage = template.Must(template.New("login").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Temporal UI</title>
<h1>Temporal UI</h1>
<p>You need the permission temporal.ui.use. <a href="{{.}}">Log in</a>
`))
