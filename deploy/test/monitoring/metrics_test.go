package monitoring_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// parse parses an expression of a rule or a panel.
func parse(expression string) (parser.Expr, error) {
	return parser.NewParser(parser.Options{}).ParseExpr(strings.ReplaceAll(expression, "$__rate_interval", "5m"))
}

// metricsOf returns the names of the metrics in an expression.
func metricsOf(expression parser.Expr) []string {
	var names []string
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			names = append(names, selector.Name)
		}
		return nil
	})
	return names
}

// expressions are all expressions of rules and dashboards, by where they stand.
func expressions(tb testing.TB) map[string]string {
	tb.Helper()
	all := make(map[string]string)
	for _, rule := range readRules(tb) {
		all["rule "+rule.Alert+rule.Record+" "+rule.Labels["severity"]+rule.Labels["window"]] = rule.Expr
	}
	for file, d := range dashboards(tb) {
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				all[file+", panel "+p.Title+" "+target.RefID] = target.Expr
			}
		}
	}
	return all
}

// Every metric in a rule, on a dashboard or on an operators' page is exported by a real program, recorded by a
// rule, or another exporter's.
func TestMetrics_Exist(t *testing.T) {
	t.Parallel()
	used := make(map[string]string)
	for where, expression := range expressions(t) {
		parsed, err := parse(expression)
		if err != nil {
			t.Errorf("%s: %v", where, err)
			continue
		}
		for _, name := range metricsOf(parsed) {
			used[name] = where
		}
	}
	known := liveMetrics(t)
	for _, rule := range readRules(t) {
		if rule.Record != "" {
			known[rule.Record] = true
		}
	}
	for name, where := range documented(t) {
		used[name] = where
	}
	for _, name := range slices.Sorted(maps.Keys(used)) {
		if !known[name] && !foreign(name) {
			t.Errorf("%s uses %s, which no program exports", used[name], name)
		}
	}
}

// documented are the names of our metrics in documents.
func documented(tb testing.TB) map[string]string {
	tb.Helper()
	names := make(map[string]string)
	metric := regexp.MustCompile(`\bcallboard_(projector|reader|readapi|webhooks|db|generation|build|ready)[a-z_]*\b`)
	for _, path := range pages(tb) {
		text, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		for _, name := range metric.FindAllString(string(text), -1) {
			if !slices.Contains([]string{"callboard_projector", "callboard_reader", "callboard_webhooks"}, name) { // the database roles
				names[name] = path
			}
		}
	}
	return names
}

// foreign reports whether a metric is of a program of others: node_exporter, blackbox_exporter, HAProxy or Prometheus.
func foreign(name string) bool {
	return regexp.MustCompile(`^(node_|probe_|haproxy_|up$)`).MatchString(name)
}
