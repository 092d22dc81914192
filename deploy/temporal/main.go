package main

import (
	_ "github.com/labstack/echo/v4"
	_ "github.com/labstack/echo/v4/middleware"
	_ "github.com/temporalio/ui-server/v2/server"
	_ "go.temporal.io/api/workflowservice/v1"
	_ "go.temporal.io/sdk/client"
	_ "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	_ "go.temporal.io/server/schema/sqlite"
	_ "go.temporal.io/server/temporal"
)

func main() {}
