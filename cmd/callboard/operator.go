//go:build operator

package main

// commands has no dev: this build holds credentials of the schemas' owner, and links no server and no downloader.
type commands struct {
	operatorCommands
}
