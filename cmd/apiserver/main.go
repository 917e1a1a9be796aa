// Command apiserver is one of the three programs of shedload; see --help.
package main

import (
	"context"
	"os"

	"shedload/internal/app"
	"shedload/internal/boot"
)

func main() {
	ctx, stop := boot.Signals(context.Background())
	code := app.RunAPIServer(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
