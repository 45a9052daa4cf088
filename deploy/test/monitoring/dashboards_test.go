package monitoring_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

type dashboard struct {
	Panels []panel `json:"panels"`
}

type panel struct {
	Title       string `json:"title"`
	Description string `json:"description"`
	GridPos     struct {
		X int `json:"x"`
		Y int `json:"y"`
		W int `json:"w"`
		H int `json:"h"`
	} `json:"gridPos"`
	FieldConfig struct {
		Defaults struct {
			Thresholds struct {
				Steps []struct {
					Value *float64 `json:"value"`
				} `json:"steps"`
			} `json:"thresholds"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
	Targets []struct {
		RefID string `json:"refId"`
		Expr  string `json:"expr"`
	} `json:"targets"`
}

func (p panel) thresholds() []float64 {
	var values []float64
	for _, step := range p.FieldConfig.Defaults.Thresholds.Steps {
		if step.Value != nil {
			values = append(values, *step.Value)
		}
	}
	return values
}

func dashboards(tb testing.TB) map[string]dashboard {
	tb.Helper()
	paths, err := filepath.Glob(root + "/deploy/grafana/*.json")
	if err != nil || len(paths) == 0 {
		tb.Fatalf("dashboards = %d, %v, want some", len(paths), err)
	}
	all := make(map[string]dashboard)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			tb.Fatalf("%s: %v", path, err)
		}
		all[filepath.Base(path)] = d
	}
	return all
}

// alertOf finds the alert that a panel's description names.
var alertOf = regexp.MustCompile(`Alert: (\w+)`)

// numbers are the numbers in the expressions of an alert's rules.
func numbers(tb testing.TB, alert string) []float64 {
	tb.Helper()
	var values []float64
	for _, rule := range alerts(tb)[alert] {
		expression, err := parse(rule.Expr)
		if err != nil {
			tb.Fatal(err)
		}
		parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
			if number, ok := node.(*parser.NumberLiteral); ok {
				values = append(values, number.Val)
			}
			return nil
		})
	}
	return values
}

// A panel with thresholds names the alert that has the same ones.
func TestDashboards_Thresholds(t *testing.T) {
	t.Parallel()
	for file, d := range dashboards(t) {
		for _, p := range d.Panels {
			match := alertOf.FindStringSubmatch(p.Description)
			if match == nil {
				if values := p.thresholds(); len(values) > 0 {
					t.Errorf("%s, %s: thresholds = %v without an alert", file, p.Title, values)
				}
				continue
			}
			known := numbers(t, match[1])
			if known == nil {
				t.Errorf("%s, %s: there is no alert %s", file, p.Title, match[1])
			}
			for _, value := range p.thresholds() {
				if !slices.Contains(known, value) {
					t.Errorf("%s, %s: threshold = %v, want one of %s: %v", file, p.Title, value, match[1], known)
				}
			}
		}
	}
}

// Every alert on callboard's own metrics is shown on a panel.
func TestDashboards_ShowEveryAlert(t *testing.T) {
	t.Parallel()
	shown := make(map[string]bool)
	for _, d := range dashboards(t) {
		for _, p := range d.Panels {
			if match := alertOf.FindStringSubmatch(p.Description); match != nil {
				shown[match[1]] = true
			}
		}
	}
	for name, rules := range alerts(t) {
		if strings.Contains(rules[0].Expr, "callboard") && !shown[name] {
			t.Errorf("no panel shows %s", name)
		}
	}
}
