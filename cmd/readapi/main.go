// Command readapi serves the API's read operations from the projection.
package main

import (
	_ "time/tzdata" // an image has no files but the program

	_ "golang.org/x/crypto/x509roots/fallback" // as above

	"callboard/internal/run"
	"callboard/internal/runreadapi"
)

func main() {
	run.MainServer[runreadapi.Program]("readapi", "Serves the API's read operations from the projection.",
		"127.0.0.1:9090")
}
