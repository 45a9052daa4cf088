// Command webhooks sends webhooks to the endpoints that operators registered.
package main

import (
	_ "time/tzdata" // an image has no files but the program

	_ "golang.org/x/crypto/x509roots/fallback" // as above

	"callboard/internal/run"
	"callboard/internal/runwebhooks"
)

func main() {
	run.MainServer[runwebhooks.Program]("webhooks", "Sends webhooks to the endpoints that operators registered.",
		"127.0.0.1:9092")
}
