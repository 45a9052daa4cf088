package kubernetes

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

//nolint:gochecknoglobals // a flag
var update = flag.Bool("update", false, "write components/monitoring/prometheus-rule.yaml")

const ruleHeader = `# The rules of deploy/prometheus/rules.yaml, which kustomize can't refer to. 'go -C deploy/test test ./kubernetes -update' writes it.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: callboard
spec:
`

// The component has the rules of Prometheus' own file.
func TestPrometheusRule(t *testing.T) {
	t.Parallel()
	rules, err := os.ReadFile(filepath.Join(root, "deploy/prometheus/rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	want.WriteString(ruleHeader)
	for line := range strings.Lines(string(rules)) {
		if line != "\n" {
			want.WriteString("  ")
		}
		want.WriteString(line)
	}
	path := filepath.Join(manifests, "components/monitoring/prometheus-rule.yaml")
	if *update {
		if err := os.WriteFile(path, []byte(want.String()), 0o644); err != nil { //nolint:gosec // everyone may read it
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want.String() {
		t.Errorf("%s differs from deploy/prometheus/rules.yaml, error = %v: run this test with -update", path, err)
	}
}
