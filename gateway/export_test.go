package gateway

// DropRoutes empties the table of routes.
func (g *Gateway) DropRoutes() { g.table = nil }
