package webhooks

import (
	"crypto/x509"
	"fmt"
	"os"
)

// readRoots returns the system's authorities and those of a file; nil without a file, which means the system's.
func readRoots(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // as crypto/tls has it
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("certificates of the system: %w", err)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("CALLBOARD_WEBHOOK_CA_FILE: %w", err)
	}
	if !roots.AppendCertsFromPEM(content) {
		return nil, fmt.Errorf("CALLBOARD_WEBHOOK_CA_FILE: %s has no certificate in PEM", file)
	}
	return roots, nil
}
