package tracing

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
)

// The settings that may hold secrets.
const (
	endpointVariable      = "OTEL_EXPORTER_OTLP_ENDPOINT"
	headersVariable       = "OTEL_EXPORTER_OTLP_HEADERS"
	tracesHeadersVariable = "OTEL_EXPORTER_OTLP_TRACES_HEADERS"
)

// checkSettings returns the collector's host. The SDK ignores what it can't parse, so these settings are parsed here
// first.
func checkSettings() (host string, err error) {
	endpoint, err := url.Parse(strings.TrimSpace(os.Getenv(endpointVariable)))
	if err != nil || endpoint.Scheme != "http" && endpoint.Scheme != "https" || endpoint.Host == "" {
		return "", errors.New(endpointVariable + " is not an http or https URL: set it to one such as http://collector:4318")
	}

	for _, variable := range []string{headersVariable, tracesHeadersVariable} {
		if !validHeaders(os.Getenv(variable)) {
			return "", fmt.Errorf("%s is not a list of headers: set it to name=value,name=value, "+
				"with values encoded as in URLs", variable)
		}
	}

	return endpoint.Host, nil
}

func validHeaders(list string) bool {
	if list == "" {
		return true
	}

	for header := range strings.SplitSeq(list, ",") {
		name, value, found := strings.Cut(header, "=")
		if !found || strings.TrimSpace(name) == "" {
			return false
		}
		if _, err := url.PathUnescape(value); err != nil {
			return false
		}
	}

	return true
}
