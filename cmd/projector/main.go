// Command projector applies the stream's events to the projection.
package main

import (
	_ "time/tzdata" // an image has no files but the program

	_ "golang.org/x/crypto/x509roots/fallback" // as above

	"callboard/internal/run"
	"callboard/internal/runprojector"
)

func main() {
	run.MainServer[runprojector.Program]("projector",
		"Applies the stream's events to the projection, and stores audit entries.", "127.0.0.1:9091")
}
