// Package healthcheck asks a running program whether it can serve. Container images have no shell and no curl, so that each program
// has this as a command.
package healthcheck

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"callboard/cmd/process"
)

// Command asks the program that runs with the same settings. The kong variable admin_listen is the default of its address.
type Command struct {
	AdminListen string `type:"address" setting:"" default:"${admin_listen}" help:"The admin address of the running program."`
}

// Run requests /readyz and fails unless the status is 2xx.
func (c *Command) Run(ctx context.Context, streams process.Streams) error {
	// An empty or unspecified host, such as in :9090, is this machine when it is dialed, too.
	response, err := Get(ctx, "http://"+c.AdminListen+"/readyz")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(streams.Out, response.Status)
	return err
}

// Response is the answer of a healthy program.
type Response struct {
	Code   int
	Status string // such as "200 OK"
}

// timeout is below the timeout of container engines.
const timeout = 5 * time.Second

// Get requests a URL. It returns an error with the beginning of the answer unless the status is 2xx.
func Get(ctx context.Context, url string) (Response, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return Response{}, fmt.Errorf("healthcheck: %w", err)
	}
	// A proxy that the environment names would be asked for its own health.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return Response{}, fmt.Errorf("healthcheck: %w", err)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, 1024))
	_ = response.Body.Close()
	if err != nil {
		return Response{}, fmt.Errorf("healthcheck: %w", err)
	}
	if response.StatusCode/100 != 2 {
		return Response{}, fmt.Errorf("healthcheck: %s: %s", response.Status, body)
	}
	return Response{response.StatusCode, response.Status}, nil
}
