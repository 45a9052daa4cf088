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
	URL string `arg:"" help:"The URL, such as http://127.0.0.1:9090/readyz."`
}

// healthTimeout is below the timeout of container engines.
const healthTimeout = 5 * time.Second

// Run requests the URL and fails unless the status is 2xx.
func (c *healthcheckCommand) Run(ctx context.Context, streams process.Streams) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL, nil)
	if err != nil {
		return &process.UsageError{Detail: "invalid URL: write for example http://127.0.0.1:9090/readyz"}
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("healthcheck: %w", err)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, 1024))
	_ = response.Body.Close()
	if err != nil {
		return fmt.Errorf("healthcheck: %w", err)
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("healthcheck: %s: %s", response.Status, body)
	}
	return c.print(streams.Out, map[string]int{"status": response.StatusCode}, func(w io.Writer) error {
		return writeLines(w, []string{response.Status})
	})
}
