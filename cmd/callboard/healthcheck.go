package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"callboard/cmd/process"
)

type healthcheckCommand struct {
	output
	URL string `arg:"" help:"The address to ask, http://127.0.0.1:9090/readyz for example."`
}

// healthTime is shorter than the time after which container engines give up on a check.
const healthTime = 5 * time.Second

// Run asks; an answer that is not 2xx is a failure.
func (c *healthcheckCommand) Run(ctx context.Context, streams process.Streams) error {
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL, nil)
	if err != nil {
		return &process.UsageError{Detail: "not a URL to ask: http://127.0.0.1:9090/readyz is one"}
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("healthcheck: %w", err)
	}
	said, err := io.ReadAll(io.LimitReader(response.Body, 1024))
	_ = response.Body.Close()
	if err != nil {
		return fmt.Errorf("healthcheck: %w", err)
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("healthcheck: %s: %s", response.Status, said)
	}
	return c.print(streams.Out, map[string]int{"status": response.StatusCode}, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, response.Status)
		return err
	})
}
