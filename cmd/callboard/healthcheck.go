package main

import (
	"context"
	"net/url"

	"callboard/internal/run"
)

type healthcheckCommand struct {
	output
	URL string `arg:"" help:"The URL, such as http://127.0.0.1:9090/readyz."`
}

// Run requests the URL and fails unless the status is 2xx.
func (c *healthcheckCommand) Run(ctx context.Context, streams run.Streams) error {
	if _, err := url.Parse(c.URL); err != nil {
		return &run.UsageError{Detail: "invalid URL: write for example http://127.0.0.1:9090/readyz"}
	}
	response, err := run.CheckHealth(ctx, c.URL)
	if err != nil {
		return err
	}
	return c.print(streams.Out, map[string]int{"status": response.Code}, response.Status)
}
