package monitoring_test

import (
	"os"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

func readYAML(tb testing.TB, path string, into any) {
	tb.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		tb.Fatalf("%s: %v", path, err)
	}
}

// Every job that a rule or a panel names is scraped, and every job finds its targets under the name of a service of
// docker-compose.yml.
func TestConfig_Jobs(t *testing.T) {
	t.Parallel()
	var config struct {
		Jobs []struct {
			Name string `yaml:"job_name"`
			DNS  []struct {
				Names []string `yaml:"names"`
			} `yaml:"dns_sd_configs"`
		} `yaml:"scrape_configs"`
	}
	readYAML(t, root+"/deploy/prometheus/prometheus.yaml", &config)
	var compose struct {
		Services map[string]any `yaml:"services"`
	}
	readYAML(t, root+"/docker-compose.yml", &compose)
	jobs := make(map[string]bool)
	for _, job := range config.Jobs {
		jobs[job.Name] = true
		for _, discovery := range job.DNS {
			for _, name := range discovery.Names {
				if compose.Services[name] == nil {
					t.Errorf("job %s: docker-compose.yml has no service %s", job.Name, name)
				}
			}
		}
	}
	for where, expression := range expressions(t) {
		parsed, err := parse(expression)
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		for _, job := range jobsOf(parsed) {
			if !jobs[job] {
				t.Errorf("%s: there is no job %q", where, job)
			}
		}
	}
}

// jobsOf returns the jobs in an expression's selectors.
func jobsOf(expression parser.Expr) []string {
	var jobs []string
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			for _, matcher := range selector.LabelMatchers {
				if matcher.Name == "job" {
					jobs = append(jobs, matcher.Value)
				}
			}
		}
		return nil
	})
	return jobs
}
